//! What can be pressed.

/// A button or a key, by the display server's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A mouse button; 1 is the left one.
    Button(u8),
    /// A key, by its key code.
    Key(u8),
}

/// A mouse button's code in Linux's `input-event-codes.h`, which Wayland uses. `button`: as X11 counts, 1 is the left one.
#[must_use]
pub const fn button_code(button: u8) -> u32 {
    match button {
        2 => 0x112,
        3 => 0x111,
        _ => 0x110,
    }
}

/// A display server by what lets programs press and release.
#[derive(Clone, Debug)]
pub enum DisplayServer {
    /// X11, by its extension XTEST, on the display that `DISPLAY` names.
    X11,
    /// Wayland, by wlroots' virtual pointer, in the session that `WAYLAND_DISPLAY` names. Keys are not released.
    Wlroots,
    /// Wayland, by an interface on the session's bus: Mutter's under GNOME, or the desktop portal's. Keys are not released.
    #[cfg(target_os = "linux")]
    Bus(std::sync::Arc<BusPointer>),
}

/// A connection to the session's bus by which this program presses, and the messages that release on it. They are such that
/// nobody answers.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct BusPointer {
    /// The connection, under a number of its own.
    pub socket: std::os::unix::net::UnixStream,
    /// The message that releases the left button, the middle one, and the right one.
    pub releases: [Vec<u8>; 3],
}
