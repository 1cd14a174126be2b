//! Requests that a display server takes in parts, and the wait for its answers.
//!
//! Nothing here may allocate, lock or panic: it runs in the guardian's process.

use std::cell::Cell;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The longest request, in bytes.
const LONGEST: usize = 64;

/// How long the server may take for each read and write; after that it is late, and may still answer.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// The rest of a request that was written in part. It is sent before the next request: otherwise the server would take
/// that request for the rest.
pub(crate) struct Unsent {
    bytes: Cell<[u8; LONGEST]>,
    length: Cell<usize>,
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotSent {
    pub error: Errno,
    /// Whether a part of it was, so that the server will answer it later.
    pub is_begun: bool,
}

impl Unsent {
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Cell::new([0; LONGEST]),
            length: Cell::new(0),
        }
    }

    /// Sends the rest of the last request, and this one, and waits while the server takes nothing. `write` writes some
    /// bytes of what it is given to `to`.
    pub(crate) fn send(
        &self,
        to: BorrowedFd<'_>,
        request: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<usize, Errno>,
    ) -> Result<(), NotSent> {
        self.send_by(request, |bytes| {
            loop {
                match write(bytes) {
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => wait(to, PollFlags::OUT)?,
                    done => return done,
                }
            }
        })
    }

    /// Sends the rest of the last request, and this one. `write` writes some bytes of what it is given.
    fn send_by(
        &self,
        request: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<usize, Errno>,
    ) -> Result<(), NotSent> {
        let before = self.bytes.get();
        let rest = before.get(..self.length.get()).unwrap_or_default();
        self.send_all(rest, &mut write).map_err(|error| NotSent {
            error,
            is_begun: false,
        })?;
        self.send_all(request, &mut write).map_err(|error| {
            // Without its first byte it is not begun: there is nothing to complete.
            let is_begun = self.length.get() < request.len();
            if !is_begun {
                self.length.set(0);
            }
            NotSent { error, is_begun }
        })
    }

    /// Sends bytes, and keeps those that were not sent.
    fn send_all(
        &self,
        mut bytes: &[u8],
        write: &mut impl FnMut(&[u8]) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) => {
                    self.keep(bytes);
                    return Err(error);
                }
            }
        }
        self.length.set(0);
        Ok(())
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = [0; LONGEST];
        for (to, from) in kept.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.bytes.set(kept);
        self.length.set(bytes.len().min(LONGEST));
    }
}

/// Waits until no answer is missing. `read_all` reads what is there, and counts answers.
pub(crate) fn wait_for_answers(
    file: BorrowedFd<'_>,
    missing: &Cell<u32>,
    read_all: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    read_all()?;
    while missing.get() > 0 {
        wait(file, PollFlags::IN)?;
        read_all()?;
    }
    Ok(())
}

/// Waits until something can be read or written.
pub(crate) fn wait(file: BorrowedFd<'_>, until: PollFlags) -> Result<(), Errno> {
    match poll(
        &mut [PollFd::from_borrowed_fd(file, until)],
        Some(&PATIENCE),
    ) {
        Ok(0) => Err(Errno::TIMEDOUT),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_was_sent_in_part_is_completed_first() {
        let unsent = Unsent::nothing();
        let (first, second) = ([1; 36], [2; 4]);
        let mut received = Vec::new();
        // The server takes so many bytes, and no more.
        let mut send = |request: &[u8], mut room: usize| {
            unsent.send_by(request, |bytes| {
                let count = room.min(bytes.len()).min(7);
                if count == 0 {
                    return Err(Errno::TIMEDOUT);
                }
                received.extend_from_slice(&bytes[..count]);
                room -= count;
                Ok(count)
            })
        };
        let late = |is_begun| {
            let error = Errno::TIMEDOUT;
            Err(NotSent { error, is_begun })
        };
        assert_eq!(send(&first, 0), late(false));
        assert_eq!(send(&first, 10), late(true));
        // Not even the rest of the first one.
        assert_eq!(send(&second, 10), late(false));
        assert_eq!(send(&second, 17), late(true));
        assert_eq!(send(&first, 1000), Ok(()));
        assert_eq!(send(&second, 1000), Ok(()));
        let whole = [&first[..], &second, &first, &second].concat();
        assert_eq!(received, whole);
    }
}
