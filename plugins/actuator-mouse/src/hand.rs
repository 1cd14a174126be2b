//! The hand on the mouse.

use enigo::{Button, Coordinate, Direction, Enigo, Mouse as _, Settings};
use flowpipe_plugin::{Error, Result};

/// Moves the pointer and presses its button, in screen pixels.
pub trait Hand: Send {
    /// Where the pointer is.
    fn place(&mut self) -> Result<[i32; 2]>;
    /// Puts the pointer somewhere.
    fn put(&mut self, at: [i32; 2]) -> Result<()>;
    /// Presses the left button.
    fn press(&mut self) -> Result<()>;
    /// Releases the left button.
    fn release(&mut self) -> Result<()>;
}

/// The system's own mouse.
pub struct SystemHand(Enigo);

impl SystemHand {
    /// # Errors
    /// When the system does not let this program move the mouse.
    pub fn new() -> Result<Self> {
        let settings = Settings {
            // In milliseconds before every press and release; the pace is set elsewhere.
            linux_delay: 0,
            ..Settings::default()
        };
        Enigo::new(&settings).map(Self).map_err(|error| {
            Error::new(format!(
                "can't take the mouse: {error} ({})",
                flowpipe_desktop::permission::hint()
            ))
        })
    }
}

fn failed(error: enigo::InputError) -> Error {
    Error::new(format!("the mouse does not answer: {error}"))
}

impl Hand for SystemHand {
    fn place(&mut self) -> Result<[i32; 2]> {
        self.0.location().map(|(x, y)| [x, y]).map_err(failed)
    }

    fn put(&mut self, [x, y]: [i32; 2]) -> Result<()> {
        self.0.move_mouse(x, y, Coordinate::Abs).map_err(failed)
    }

    fn press(&mut self) -> Result<()> {
        self.0
            .button(Button::Left, Direction::Press)
            .map_err(failed)
    }

    fn release(&mut self) -> Result<()> {
        self.0
            .button(Button::Left, Direction::Release)
            .map_err(failed)
    }
}
