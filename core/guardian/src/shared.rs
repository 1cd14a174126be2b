//! Releases on the connection of the process that presses: to an interface on the session's bus, Mutter's or the desktop
//! portal's, or to the compositor's emulated input (libei). Nobody may release a button or a key there but the connection
//! that pressed it, and at its end all that it has pressed is released. So both processes have the same connection: the
//! guardian sends prepared messages on it, which nobody answers, and shuts it down when the player is gone.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use crate::input::PreparedReleases;
use crate::record::Pressed;
use crate::release::Release;

/// The connection of the process that presses.
pub(crate) struct SharedConnection {
    prepared: Arc<PreparedReleases>,
    /// How often something was pressed before the last release.
    released: Cell<Option<u32>>,
}

impl SharedConnection {
    pub(crate) fn new(prepared: Arc<PreparedReleases>) -> Self {
        Self {
            prepared,
            released: Cell::new(None),
        }
    }
}

impl Release for SharedConnection {
    fn connection(&self) -> BorrowedFd<'_> {
        self.prepared.socket.as_fd()
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
        _: Option<BorrowedFd<'_>>,
        pressed: Pressed,
        is_last: bool,
    ) -> Result<(), Errno> {
        if is_last {
            return shutdown(connection, Shutdown::Both);
        }
        if self.released.get() == Some(pressed.presses) {
            return Ok(());
        }
        for input in pressed.inputs() {
            self.prepared.send(connection, input)?;
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
        let releases = vec![
            (Input::Button(1), b"left ".to_vec()),
            (Input::Button(3), b"right ".to_vec()),
            (Input::Key(36), b"return ".to_vec()),
        ];
        let shared = SharedConnection::new(Arc::new(PreparedReleases {
            socket,
            releases,
            time_from_end: None,
        }));
        let connection = shared.connection();
        let record = Record::new(Pressed::default()).unwrap();
        let release = |is_last| shared.release(connection, None, record.pressed(), is_last);
        record.add(Input::Button(3));
        assert_eq!((release(false), release(false)), (Ok(()), Ok(())));
        record.add(Input::Button(1));
        record.add(Input::Key(36));
        assert_eq!(release(false), Ok(()));
        assert_eq!(shared.check(connection), Ok(()));
        assert_eq!(release(true), Ok(()));
        let mut sent = String::new();
        bus.read_to_string(&mut sent).unwrap();
        assert_eq!(sent, "right left right return ");
        assert_eq!(shared.check(connection), Err(Errno::PIPE));
    }
}
