//! What would lead a press elsewhere than to a window.

/// Why a press at a place of a window may go to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PressObstacle {
    /// Something lies over the place, or the window is not to be seen.
    Covered,
    /// The window has another title, which does not contain the text that it has to: another tab of a browser, for one. The
    /// title, empty if there is none.
    OtherTitle(String),
    /// Another window has the keyboard, and may have locked the pointer to itself, as games do: then it gets the presses,
    /// wherever the pointer was put. Sway locks the pointer for no other window than this one.
    NoKeyboard,
}

#[cfg(all(unix, not(target_os = "macos")))]
impl PressObstacle {
    /// Whether it is the title, which has to contain a text, in capitals or not.
    pub(crate) fn of_title(title: &str, wanted: Option<&str>) -> Option<Self> {
        let wanted = wanted?.to_lowercase();
        let is_other = !title.to_lowercase().contains(&wanted);
        is_other.then(|| Self::OtherTitle(title.to_owned()))
    }
}
