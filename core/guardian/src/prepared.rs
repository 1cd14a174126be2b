//! Releases on the connection of the process that presses, by messages that were prepared before.
//!
//! The kernel takes such short messages as a whole, so that they do not get between the parts of another one.

use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustix::time::{ClockId, clock_gettime};

use crate::input::{Input, PreparedReleases};
use crate::unsent;

impl PreparedReleases {
    /// Sends the release of a button or a key. `to`: the connection, under its number in this process.
    pub(crate) fn send(&self, to: BorrowedFd<'_>, input: Input) -> Result<(), Errno> {
        let mut releases = self.releases.iter();
        let (_, message) = releases.find(|it| it.0 == input).ok_or(Errno::INVAL)?;
        let mut stamped = [0; LONGEST_STAMPED];
        let message = match self.time_from_end {
            None => message,
            Some(from_end) => stamp(message, from_end, &mut stamped).ok_or(Errno::INVAL)?,
        };
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

/// The longest message with a time, in bytes.
const LONGEST_STAMPED: usize = 64;

/// Copies a message, and writes the time into it. `None`: it has no room for that.
fn stamp<'a>(
    message: &[u8],
    from_end: usize,
    to: &'a mut [u8; LONGEST_STAMPED],
) -> Option<&'a [u8]> {
    let copy = to.get_mut(..message.len())?;
    copy.copy_from_slice(message);
    let at = message.len().checked_sub(from_end)?;
    let now = clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000;
    *copy.get_mut(at..)?.first_chunk_mut()? = now.to_ne_bytes();
    Some(copy)
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
            time_from_end: None,
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

    #[test]
    fn a_message_has_the_time_at_which_it_is_sent() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let input = Input::Button(1);
        let prepared = |message: &[u8], from_end| PreparedReleases {
            socket: near.try_clone().unwrap(),
            releases: vec![(input, message.to_vec())],
            time_from_end: Some(from_end),
        };
        let times = [(); 2].map(|()| {
            let sent = prepared(b"release 12345678 end", 12).send(near.as_fd(), input);
            assert_eq!(sent, Ok(()));
            let mut read = [0; 20];
            far.read_exact(&mut read).unwrap();
            assert_eq!((&read[..8], &read[16..]), (&b"release "[..], &b" end"[..]));
            std::thread::sleep(Duration::from_millis(2));
            u64::from_ne_bytes(*read[8..].first_chunk().unwrap())
        });
        assert!((2000..60_000_000).contains(&(times[1] - times[0])));
        for (message, from_end) in [(&b"short"[..], 4), (b"short", 6), (&[0; 65], 8)] {
            let sent = prepared(message, from_end).send(near.as_fd(), input);
            assert_eq!(sent, Err(Errno::INVAL));
        }
    }
}
