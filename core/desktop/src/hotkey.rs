//! A key that a person presses to stop something, whichever window has the keyboard.

use crate::error::DesktopError;

/// A key that is watched. It is no longer when this is dropped.
pub trait Hotkey: Send {
    /// Whether it is down, or was pressed since the last call.
    ///
    /// # Errors
    /// [`DesktopError::Lost`]: it is not known any more; [`DesktopError::Ended`].
    fn is_pressed(&mut self) -> Result<bool, DesktopError>;
}
