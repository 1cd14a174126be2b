//! What can be pressed.

/// A button or a key, by the display server's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A mouse button; 1 is the left one.
    Button(u8),
    /// A key, by its key code.
    Key(u8),
}
