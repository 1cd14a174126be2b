//! The mouse and the keyboard of X11, Windows and macOS, through the crate enigo.

use enigo::{Coordinate, Direction, Enigo, Keyboard as _, Mouse as _, Settings};

use crate::error::{DesktopError, Result};
use crate::input::{DisplayServer, Input, InputDevice};

/// The system's own mouse and keyboard.
pub(crate) struct SystemInput {
    enigo: Enigo,
    x11_display: Option<String>,
}

impl SystemInput {
    /// `x11_display`: the name of the display under X11.
    pub(crate) fn new(x11_display: Option<&str>) -> Result<Self> {
        let settings = Settings {
            // In milliseconds before every press and release; the pace is set elsewhere.
            linux_delay: 0,
            x11_display: x11_display.map(str::to_owned),
            ..Settings::default()
        };
        let enigo = Enigo::new(&settings).map_err(|error| DesktopError::NoInput {
            reason: error.to_string(),
        })?;
        Ok(Self {
            enigo,
            x11_display: x11_display.map(str::to_owned),
        })
    }

    fn send(&mut self, input: Input, direction: Direction) -> Result<()> {
        match input {
            Input::Button(number) => {
                let button = match number {
                    1 => enigo::Button::Left,
                    2 => enigo::Button::Middle,
                    3 => enigo::Button::Right,
                    number => return Err(DesktopError::UnknownButton { number }),
                };
                self.enigo.button(button, direction)
            }
            Input::Key(code) => self.enigo.raw(u16::from(code), direction),
        }
        .map_err(|error| failed(&error))
    }
}

impl InputDevice for SystemInput {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        let place = self.enigo.location().map(|(x, y)| Some([x, y]));
        place.map_err(|error| failed(&error))
    }

    fn put(&mut self, [x, y]: [i32; 2]) -> Result<()> {
        let moved = self.enigo.move_mouse(x, y, Coordinate::Abs);
        moved.map_err(|error| failed(&error))
    }

    fn press(&mut self, input: Input) -> Result<()> {
        self.send(input, Direction::Press)
    }

    fn release(&mut self, input: Input) -> Result<()> {
        self.send(input, Direction::Release)
    }

    fn display_server(&self) -> Option<DisplayServer> {
        let display = self.x11_display.clone()?;
        Some(DisplayServer::X11 { display })
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
