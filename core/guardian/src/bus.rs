//! Releases by an interface on the session's bus: Mutter's, or the desktop portal's. Mutter lets nobody release a button but
//! the connection that pressed it, and releases all of its buttons when that connection ends; the portal ends a session
//! with its connection. So both processes have the same connection: the guardian sends prepared messages on it, which
//! nobody answers, and ends it in the end.
//!
//! The kernel takes such short messages as a whole, so that they do not get between the parts of another one.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use crate::input::BusPointer;
use crate::record::Pressed;
use crate::release::Release;

/// The connection of the process that presses.
pub(crate) struct SharedConnection {
    pointer: Arc<BusPointer>,
    /// How often something was pressed before the last release.
    released: Cell<Option<u32>>,
}

impl SharedConnection {
    pub(crate) fn new(pointer: Arc<BusPointer>) -> Self {
        Self {
            pointer,
            released: Cell::new(None),
        }
    }

    /// Sends the release of a button.
    fn send(&self, to: BorrowedFd<'_>, button: u8) -> Result<(), Errno> {
        let index = usize::from(button.saturating_sub(1));
        let message = self.pointer.releases.get(index).ok_or(Errno::INVAL)?;
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match send(to, message, flags) {
                Ok(count) if count == message.len() => return Ok(()),
                // Nothing is understood after a part of a message. At the end of the connection, everything is released.
                Ok(_) => return shutdown(to, Shutdown::Both),
                Err(Errno::INTR) => {}
                // The bus takes nothing now.
                Err(Errno::AGAIN) => return Err(Errno::TIMEDOUT),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Release for SharedConnection {
    fn connection(&self) -> BorrowedFd<'_> {
        self.pointer.socket.as_fd()
    }

    /// Answers are for the other process, so that nothing is read here.
    fn check(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut files = [PollFd::from_borrowed_fd(connection, PollFlags::empty())];
        match poll(&mut files, Some(&now)) {
            Ok(0) | Err(Errno::INTR) => Ok(()),
            Ok(_) => Err(Errno::PIPE),
            Err(error) => Err(error),
        }
    }

    fn drain(&self, connection: BorrowedFd<'_>) -> Result<(), Errno> {
        self.check(connection)
    }

    fn release(
        &self,
        connection: BorrowedFd<'_>,
        pressed: Pressed,
        is_last: bool,
    ) -> Result<(), Errno> {
        if is_last {
            return shutdown(connection, Shutdown::Both);
        }
        if self.released.get() == Some(pressed.presses) {
            return Ok(());
        }
        // Keys are not pressed there.
        for button in pressed.buttons() {
            self.send(connection, button)?;
        }
        self.released.set(Some(pressed.presses));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::input::Input;
    use crate::record::Record;

    #[test]
    fn a_press_is_released_once_and_the_connection_ends_in_the_end() {
        let (socket, mut bus) = UnixStream::pair().unwrap();
        let releases = [b"left".to_vec(), b"middle".to_vec(), b"right".to_vec()];
        let shared = SharedConnection::new(Arc::new(BusPointer { socket, releases }));
        let connection = shared.connection();
        let record = Record::new(Pressed::default()).unwrap();
        let release = |is_last| shared.release(connection, record.pressed(), is_last);
        record.add(Input::Button(3));
        assert_eq!((release(false), release(false)), (Ok(()), Ok(())));
        record.add(Input::Button(1));
        assert_eq!(release(false), Ok(()));
        assert_eq!(shared.check(connection), Ok(()));
        assert_eq!(release(true), Ok(()));
        let mut sent = String::new();
        bus.read_to_string(&mut sent).unwrap();
        assert_eq!(sent, "rightleftright");
        assert_eq!(shared.check(connection), Err(Errno::PIPE));
    }
}
