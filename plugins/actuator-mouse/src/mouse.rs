//! The mouse that is controlled.

use enigo::{Coordinate, Direction, Enigo, Keyboard as _, Mouse as _, Settings};
use flowpipe_guardian::{Guardian, GuardianError, Input};
use flowpipe_plugin::message::Button;
use flowpipe_plugin::{Error, Result, tracing};

/// Moves the pointer, and presses buttons and keys. Places are in screen pixels.
pub trait Mouse: Send {
    /// Where the pointer is.
    fn place(&mut self) -> Result<[i32; 2]>;
    /// Puts the pointer somewhere.
    fn put(&mut self, at: [i32; 2]) -> Result<()>;
    /// Presses a button or a key.
    fn press(&mut self, input: Input) -> Result<()>;
    /// Looks whether what is pressed may stay so. An error means that it has to be released now.
    fn check(&mut self) -> Result<()>;
    /// Releases a button or a key.
    fn release(&mut self, input: Input) -> Result<()>;
}

/// The system's own mouse and keyboard, with a guardian that releases what is pressed when this process dies.
pub struct SystemMouse {
    mouse: Enigo,
    /// `None` on systems that have none.
    guardian: Option<Guardian>,
}

impl SystemMouse {
    /// # Errors
    /// When the system does not let this program move the mouse, or what is pressed would stay so when this
    /// process dies.
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

    fn send(&mut self, input: Input, direction: Direction) -> Result<()> {
        match input {
            Input::Button(number) => {
                let button = match number {
                    2 => enigo::Button::Middle,
                    3 => enigo::Button::Right,
                    _ => enigo::Button::Left,
                };
                self.mouse.button(button, direction)
            }
            Input::Key(code) => self.mouse.raw(u16::from(code), direction),
        }
        .map_err(failed)
    }
}

/// A button, as display servers count.
pub fn button(button: Button) -> Input {
    Input::Button(match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
    })
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

    fn press(&mut self, input: Input) -> Result<()> {
        if let Some(guardian) = &mut self.guardian {
            guardian.pressed(input).map_err(unguarded)?;
        }
        self.send(input, Direction::Press)
    }

    fn check(&mut self) -> Result<()> {
        match &mut self.guardian {
            Some(guardian) => guardian.check().map_err(|error| {
                Error::new(format!(
                    "the gesture ends, and what is pressed is released: {error}"
                ))
            }),
            None => Ok(()),
        }
    }

    fn release(&mut self, input: Input) -> Result<()> {
        // It comes back when the display server has done it.
        self.send(input, Direction::Release)?;
        if let Some(guardian) = &mut self.guardian {
            guardian.released(input);
        }
        Ok(())
    }
}
