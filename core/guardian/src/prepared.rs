//! Releases on the connection of the process that presses, by messages that were prepared before.
//!
//! The kernel takes such short messages as a whole, so that they do not get between the parts of another one.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use crate::input::{Input, PreparedReleases};

impl PreparedReleases {
    /// Sends the release of a button or a key. `to`: the connection, under its number in this process.
    pub(crate) fn send(&self, to: BorrowedFd<'_>, input: Input) -> Result<(), Errno> {
        let mut releases = self.releases.iter();
        let (_, message) = releases.find(|it| it.0 == input).ok_or(Errno::INVAL)?;
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match send(to, message, flags) {
                Ok(count) if count == message.len() => return Ok(()),
                // Nothing is understood after a part of a message. At the end of the connection, everything is released.
                Ok(_) => return shutdown(to, Shutdown::Both),
                Err(Errno::INTR) => {}
                // The other side takes nothing now.
                Err(Errno::AGAIN) => return Err(Errno::TIMEDOUT),
                Err(error) => return Err(error),
            }
        }
    }
}
