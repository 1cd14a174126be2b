//! The mouse and the keyboard of X11, Windows and macOS, through the crate enigo.

use enigo::{Coordinate, Direction, Enigo, Keyboard as _, Mouse as _, Settings};

use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice};

/// The system's own mouse and keyboard.
pub(crate) struct SystemInput(Enigo);

impl SystemInput {
    pub(crate) fn new() -> Result<Self> {
        let settings = Settings {
            // In milliseconds before every press and release; the pace is set elsewhere.
            linux_delay: 0,
            ..Settings::default()
        };
        let enigo = Enigo::new(&settings).map_err(|error| DesktopError::NoInput {
            reason: error.to_string(),
        })?;
        Ok(Self(enigo))
    }

    fn send(&mut self, input: Input, direction: Direction) -> Result<()> {
        match input {
            Input::Button(number) => {
                let button = match number {
                    2 => enigo::Button::Middle,
                    3 => enigo::Button::Right,
                    _ => enigo::Button::Left,
                };
                self.0.button(button, direction)
            }
            Input::Key(code) => self.0.raw(u16::from(code), direction),
        }
        .map_err(|error| failed(&error))
    }
}

impl InputDevice for SystemInput {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        let place = self.0.location().map(|(x, y)| Some([x, y]));
        place.map_err(|error| failed(&error))
    }

    fn put(&mut self, [x, y]: [i32; 2]) -> Result<()> {
        let moved = self.0.move_mouse(x, y, Coordinate::Abs);
        moved.map_err(|error| failed(&error))
    }

    fn press(&mut self, input: Input) -> Result<()> {
        self.send(input, Direction::Press)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send(input, Direction::Release)
    }

    fn display_server(&self) -> Option<DisplayServer> {
        cfg!(target_os = "linux").then_some(DisplayServer::X11)
    }
}

fn failed(error: &enigo::InputError) -> DesktopError {
    DesktopError::Input(match error {
        // Its text does not say more: the cause is not filled in.
        enigo::InputError::Simulate(_) => {
            "the desktop does not take it: its connection may be closed".to_owned()
        }
        error => error.to_string(),
    })
}
