//! Releases on the connection of the process that presses, by messages that were prepared before.
//!
//! The kernel takes such short messages as a whole, so that they do not get between the parts of another one.

use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};

use crate::input::{Input, PreparedReleases};
use crate::unsent;

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
                Err(Errno::AGAIN) => unsent::wait(to, PollFlags::OUT)?,
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_full_connection_is_waited_for() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let input = Input::Button(1);
        let prepared = PreparedReleases {
            socket: near.try_clone().unwrap(),
            releases: vec![(input, b"release".to_vec())],
        };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while send(&near, &[0; 4096], flags).is_ok() {}
        while send(&near, &[0], flags).is_ok() {}
        let began = Instant::now();
        assert_eq!(prepared.send(near.as_fd(), input), Err(Errno::TIMEDOUT));
        // A loop that asks again and again would use a processor up.
        assert!(began.elapsed() > Duration::from_millis(500));
        let mut read = vec![0; 1 << 22];
        while far.read(&mut read).unwrap() == read.len() {}
        assert_eq!(prepared.send(near.as_fd(), input), Ok(()));
    }
}
