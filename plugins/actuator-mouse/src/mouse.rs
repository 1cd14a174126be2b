//! The mouse that is controlled.

use enigo::{Button, Coordinate, Direction, Enigo, Mouse as _, Settings};
use flowpipe_guardian::{Guardian, GuardianError, Input};
use flowpipe_plugin::{Error, Result, tracing};

/// Moves the pointer and presses its button, in screen pixels.
pub trait Mouse: Send {
    /// Where the pointer is.
    fn place(&mut self) -> Result<[i32; 2]>;
    /// Puts the pointer somewhere.
    fn put(&mut self, at: [i32; 2]) -> Result<()>;
    /// Presses the left button.
    fn press(&mut self) -> Result<()>;
    /// Looks whether the button may stay pressed. An error means that it has to be released now.
    fn check(&mut self) -> Result<()>;
    /// Releases the left button.
    fn release(&mut self) -> Result<()>;
}

/// The system's own mouse, with a guardian that releases its button when this process dies.
pub struct SystemMouse {
    mouse: Enigo,
    /// `None` on systems that have none.
    guardian: Option<Guardian>,
}

/// The left button, as display servers count.
const LEFT: Input = Input::Button(1);

impl SystemMouse {
    /// # Errors
    /// When the system does not let this program move the mouse, or its button would stay pressed when this process dies.
    pub fn new() -> Result<Self> {
        let settings = Settings {
            // In milliseconds before every press and release; the pace is set elsewhere.
            linux_delay: 0,
            ..Settings::default()
        };
        let mouse = Enigo::new(&settings).map_err(|error| {
            Error::new(format!(
                "can't control the mouse: {error} ({})",
                flowpipe_desktop::permission::hint()
            ))
        })?;
        let guardian = match Guardian::start() {
            Ok(guardian) => Some(guardian),
            Err(error @ GuardianError::Unsupported) => {
                tracing::warn!("{error}");
                None
            }
            Err(error) => return Err(unguarded(error)),
        };
        Ok(Self { mouse, guardian })
    }
}

fn unguarded(error: GuardianError) -> Error {
    Error::new(format!("nothing is pressed: {error}"))
}

fn failed(error: enigo::InputError) -> Error {
    Error::new(format!("the mouse does not answer: {error}"))
}

impl Mouse for SystemMouse {
    fn place(&mut self) -> Result<[i32; 2]> {
        self.mouse.location().map(|(x, y)| [x, y]).map_err(failed)
    }

    fn put(&mut self, [x, y]: [i32; 2]) -> Result<()> {
        self.mouse.move_mouse(x, y, Coordinate::Abs).map_err(failed)
    }

    fn press(&mut self) -> Result<()> {
        if let Some(guardian) = &mut self.guardian {
            guardian.pressed(LEFT).map_err(unguarded)?;
        }
        self.mouse
            .button(Button::Left, Direction::Press)
            .map_err(failed)
    }

    fn check(&mut self) -> Result<()> {
        match &mut self.guardian {
            Some(guardian) => guardian.check().map_err(|error| {
                Error::new(format!(
                    "the stroke ends, and the button is released: {error}"
                ))
            }),
            None => Ok(()),
        }
    }

    fn release(&mut self) -> Result<()> {
        // It comes back when the display server has done it.
        self.mouse
            .button(Button::Left, Direction::Release)
            .map_err(failed)?;
        if let Some(guardian) = &mut self.guardian {
            guardian.released(LEFT);
        }
        Ok(())
    }
}
