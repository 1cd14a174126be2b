//! What would lead a press elsewhere than to a window.

/// Why a press at a place of a window may go to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PressObstacle {
    /// Something lies over the place, or the window is not to be seen.
    Covered,
    /// Another window has the keyboard, and may have locked the pointer to itself, as games do: then it gets the presses,
    /// wherever the pointer was put. Sway locks the pointer for no other window than this one.
    NoKeyboard,
}
