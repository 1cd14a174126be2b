//! Emulated input through libei: a socket on which the compositor gives this program devices of its own. Mutter's interface
//! and the desktop portal hand it out (`ConnectToEIS`).
//!
//! The compositor may pause or remove a device at any moment, and need not say so before it ignores input. So the end of the
//! pointer in use, however it comes, ends the connection: the compositor then releases what the device has pressed, and
//! nothing is sent any more.
//!
//! What the compositor sends is not trusted. The crate reis, which knows the protocol too, reads as long as the other side
//! writes and keeps all objects that it is sent. So this module reads for itself, and reis is what the tests compare it
//! with.
//!
//! - `wire`: messages as bytes. `interface`: the parts of the protocol. `server`: what the other side has said, without I/O.
//!   `keymap`: which key has a symbol. `connection`: the socket. `device`: a pointer and a keyboard.

mod connection;
mod device;
mod interface;
mod keymap;
mod server;
mod wire;

pub(crate) use device::{EmulatedInput, EmulatedMonitor};

use crate::error::DesktopError;

/// Why a compositor gives no socket.
pub(crate) enum NoSocket {
    /// It has no libei: its own methods are there.
    NotOffered,
    /// It has it, and refuses.
    Refused(DesktopError),
}

impl NoSocket {
    /// What an answer to the question for a socket means. `asked`: who has answered.
    pub(crate) fn of(error: &zbus::Error, asked: &str) -> Self {
        const ABSENT: [&str; 3] = ["UnknownMethod", "UnknownInterface", "NotSupported"];
        match error {
            zbus::Error::MethodError(name, ..) if ABSENT.iter().any(|it| name.ends_with(it)) => {
                Self::NotOffered
            }
            _ => Self::Refused(refused(&format!("{asked} gives no socket: {error}"))),
        }
    }
}

/// Input that can't be had.
fn refused(reason: &str) -> DesktopError {
    DesktopError::NoInput {
        reason: format!(
            "no emulated input through libei: {reason}; to play by the desktop's other methods, set libei = false of \
             actuator-mouse"
        ),
    }
}
