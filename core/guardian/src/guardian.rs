//! The guardian, as the process that presses has it.

use crate::error::GuardianError;
use crate::input::Input;
use crate::process::Process;
use crate::record::Pressed;
use crate::x11;

/// A process that releases what is noted here when this process dies. It ends with this value.
#[derive(Debug)]
pub struct Guardian {
    process: Process,
}

impl Guardian {
    /// Starts the process for the display that this program uses.
    ///
    /// # Errors
    /// When it can't be started: then nothing should be pressed.
    pub fn start() -> Result<Self, GuardianError> {
        let process = start(Pressed::default())?;
        Ok(Self { process })
    }

    /// Notes that something is about to be pressed. To be called before it is, so that there is no moment at which it is
    /// pressed and not noted. A guardian that was killed is started again first.
    ///
    /// # Errors
    /// When it can't be started again: then nothing may be pressed.
    pub fn pressed(&mut self, input: Input) -> Result<(), GuardianError> {
        if !self.process.is_alive() {
            tracing::warn!(
                "the process that releases the mouse when this one dies was killed or stopped, and is restarted"
            );
            self.process = start(self.process.record().pressed())?;
        }
        self.process.record().add(input);
        Ok(())
    }

    /// Looks whether what is pressed is guarded still. To be called again and again while something is.
    ///
    /// # Errors
    /// When nobody would release it: the guardian was killed or stopped. It should be released now.
    pub fn check(&mut self) -> Result<(), GuardianError> {
        if self.process.record().pressed().is_empty() || self.process.is_alive() {
            return Ok(());
        }
        Err(GuardianError::Killed)
    }

    /// Notes that something has been released. To be called after the display server has done so.
    pub fn released(&mut self, input: Input) {
        self.process.record().remove(input);
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// `pressed`: what is pressed already.
fn start(pressed: Pressed) -> Result<Process, GuardianError> {
    // The one platform so far. One whose display server or kernel releases what a dead program pressed, as Wayland's
    // virtual devices do, needs none of this.
    Process::start(x11::Connection::open()?, pressed)
}
