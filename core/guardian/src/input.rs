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
    /// X11, by its extension XTEST.
    X11 {
        /// The name of the display, such as `:0`.
        display: String,
    },
    /// Wayland, by wlroots' virtual pointer.
    #[cfg(unix)]
    Wlroots {
        /// The path of the compositor's socket.
        socket: std::path::PathBuf,
        /// The connection whose virtual keyboard presses keys, if there is one.
        keyboard: Option<std::sync::Arc<PreparedReleases>>,
    },
    /// Wayland, by the connection that presses: to the session's bus (Mutter's interface, or the desktop portal's), or to the
    /// compositor's emulated input (libei).
    #[cfg(unix)]
    Shared(std::sync::Arc<PreparedReleases>),
}

/// A connection by which this program presses, and the messages that release on it. They are such that nobody answers.
#[cfg(unix)]
#[derive(Debug)]
pub struct PreparedReleases {
    /// The connection, under a number of its own.
    pub socket: std::os::unix::net::UnixStream,
    /// What can be pressed there, and the message that releases it.
    pub releases: Vec<(Input, Vec<u8>)>,
    /// Where messages have the time at which they are sent, as far from their ends: in microseconds of the monotonic clock,
    /// in eight bytes. `None`: they have none.
    pub time_from_end: Option<usize>,
}
