//! What can be pressed.

use std::fmt;

/// A button or a key, by the display server's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A mouse button; 1 is the left one.
    Button(u8),
    /// A key, by its key code.
    Key(u8),
}

/// In words, such as `the left button` or `the key with the code 38`.
impl fmt::Display for Input {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Button(1) => to.write_str("the left button"),
            Self::Button(2) => to.write_str("the middle button"),
            Self::Button(3) => to.write_str("the right button"),
            Self::Button(number) => write!(to, "the button {number}"),
            Self::Key(code) => write!(to, "the key with the code {code}"),
        }
    }
}

/// A mouse button's code in Linux's `input-event-codes.h`, which Wayland uses. `button`: as X11 counts, 1 is the left one.
/// `None`: it is none of the left, the middle and the right one.
#[must_use]
pub const fn button_code(button: u8) -> Option<u32> {
    match button {
        1 => Some(0x110),
        2 => Some(0x112),
        3 => Some(0x111),
        _ => None,
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
        /// What is to be sent once this program has died.
        clean_up: Option<std::sync::Arc<CleanUp>>,
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

/// Messages that remove what this program has set up and its death would leave, on a connection that is used for
/// nothing else. They are not sent when the program ends its guardian itself.
#[cfg(unix)]
#[derive(Debug)]
pub struct CleanUp {
    /// The connection, under a number of its own.
    pub socket: std::os::unix::net::UnixStream,
    /// The messages, in order. Each is answered, and what is sent right before the connection ends may be read no more.
    pub messages: Vec<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_named_in_words() {
        for (input, words) in [
            (Input::Button(1), "the left button"),
            (Input::Button(2), "the middle button"),
            (Input::Button(3), "the right button"),
            (Input::Button(9), "the button 9"),
            (Input::Key(38), "the key with the code 38"),
        ] {
            assert_eq!(input.to_string(), words);
        }
    }

    #[test]
    fn no_other_button_becomes_one_of_the_three() {
        let known: Vec<u8> = (0..=u8::MAX)
            .filter(|&it| button_code(it).is_some())
            .collect();
        assert_eq!(known, [1, 2, 3]);
    }
}
