//! The guardian, as used by the process that presses.

use std::sync::Arc;

use crate::error::GuardianError;
use crate::input::{DisplayServer, Input};
use crate::process::Process;
use crate::record::Pressed;
use crate::{shared, wlroots, x11};

/// A process that releases everything recorded here when this process dies. It ends when this value is dropped.
#[derive(Debug)]
pub struct Guardian {
    server: DisplayServer,
    process: Process,
}

impl Guardian {
    /// Starts the process for a display server that this program presses on.
    ///
    /// # Errors
    /// When it can't be started: then nothing should be pressed.
    pub fn start(server: DisplayServer) -> Result<Self, GuardianError> {
        let process = start(&server, Pressed::default())?;
        Ok(Self { server, process })
    }

    /// Guards on another connection of the same display server from now on, also what is pressed already.
    ///
    /// # Errors
    /// When its process can't be started again: then nothing may be pressed.
    pub fn switch_to(&mut self, server: DisplayServer) -> Result<(), GuardianError> {
        let next = start(&server, self.process.record().pressed())?;
        // The next process guards it now: the one before releases nothing at its end.
        self.process.record().clear();
        self.process = next;
        self.server = server;
        Ok(())
    }

    /// Restarts a guardian that was killed or stopped. This may take seconds: call it before what decides whether something
    /// may be pressed.
    ///
    /// # Errors
    /// When it can't be started again: then nothing may be pressed.
    pub fn restart_if_dead(&mut self) -> Result<(), GuardianError> {
        if !self.process.is_alive() {
            tracing::warn!(
                "the process that releases the mouse when this one dies was killed or stopped, and is restarted"
            );
            self.process = start(&self.server, self.process.record().pressed())?;
        }
        Ok(())
    }

    /// Records that something is about to be pressed. Call it right before the press, so that nothing is ever pressed and
    /// not recorded.
    ///
    /// # Errors
    /// [`GuardianError::Killed`] when nobody would release it: then nothing may be pressed.
    pub fn pressed(&mut self, input: Input) -> Result<(), GuardianError> {
        if !self.process.is_alive() {
            return Err(GuardianError::Killed);
        }
        self.process.record().add(input);
        Ok(())
    }

    /// Checks that a guardian still guards what is pressed. Call it repeatedly while something is pressed.
    ///
    /// # Errors
    /// When nobody would release it: the guardian was killed or stopped. It should be released now.
    pub fn check(&mut self) -> Result<(), GuardianError> {
        if self.process.record().pressed().is_empty() || self.process.is_alive() {
            return Ok(());
        }
        Err(GuardianError::Killed)
    }

    /// Records that something was released. Call it after the display server has released it.
    pub fn released(&mut self, input: Input) {
        self.process.record().remove(input);
    }

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// `pressed`: what is pressed already.
fn start(server: &DisplayServer, pressed: Pressed) -> Result<Process, GuardianError> {
    match server {
        DisplayServer::X11 { display } => Process::start(x11::Connection::open(display)?, pressed),
        DisplayServer::Wlroots {
            socket,
            keyboard,
            clean_up,
        } => {
            let compositor = wlroots::Compositor::open(socket, keyboard.clone())?;
            Process::start(compositor.cleaning_up(clean_up.clone()), pressed)
        }
        DisplayServer::Shared(prepared) => {
            let connection = shared::SharedConnection::new(Arc::clone(prepared));
            Process::start(connection, pressed)
        }
    }
}
