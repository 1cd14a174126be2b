//! Packets over a Unix socket: a header as JSON, bytes as they are, and file descriptors.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One end of a connection. A packet is the lengths of its header and its body (each 4 bytes, little-endian), the header
/// and the body; file descriptors come along with its first byte.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: UnixStream,
    /// Between `taken` and `filled` is what was received and is not yet taken.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    files: VecDeque<OwnedFd>,
}

/// What came: the header's value and the body.
pub(crate) type Packet<T> = (T, Vec<u8>);

/// Longer packets are no packets: bytes of a header, and of a body.
pub(crate) const LONGEST: usize = 1 << 30;
const LENGTHS: usize = 8;
/// File descriptors that come with one packet.
const MOST_FILES: usize = 4;
const CHUNK: usize = 64 << 10;

impl Wire {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            buffer: Vec::new(),
            taken: 0,
            filled: 0,
            files: VecDeque::new(),
        }
    }

    /// How long [`Self::receive`] waits before it fails with [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn wait_at_most(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)
    }

    /// How long [`Self::send`] waits for room before it fails with [`io::ErrorKind::WouldBlock`]; nothing can be sent after that.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn send_within(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(limit)
    }

    /// # Errors
    /// When the other side is gone.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        header: &T,
        body: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut head = vec![0; LENGTHS];
        serde_json::to_writer(&mut head, header)?;
        let length = |length: usize| {
            (length <= LONGEST)
                .then_some(length as u32)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "too long"))
        };
        let lengths = [length(head.len() - LENGTHS)?, length(body.len())?];
        for (place, length) in head.chunks_exact_mut(4).zip(lengths) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(files));
        }
        let parts = [IoSlice::new(&head), IoSlice::new(body)];
        let sent = loop {
            match sendmsg(&self.socket, &parts, &mut ancillary, SendFlags::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                sent => break sent?,
            }
        };
        // What did not fit in one go.
        if sent < head.len() {
            self.socket
                .write_all(head.get(sent..).unwrap_or_default())?;
        }
        let rest = body.get(sent.saturating_sub(head.len())..);
        self.socket.write_all(rest.unwrap_or_default())
    }

    /// The next packet, waiting for it. `None`: the other side is gone.
    ///
    /// # Errors
    /// When what came is no packet.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<Packet<T>>> {
        if !self.fill(LENGTHS)? {
            return Ok(None);
        }
        let at = |place: usize| {
            let bytes = self.buffer.get(self.taken + place..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes) as usize)
        };
        let (head, body) = (at(0).unwrap_or(LONGEST + 1), at(4).unwrap_or(LONGEST + 1));
        if head > LONGEST || body > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no packet"));
        }
        if !self.fill(LENGTHS + head + body)? {
            return Ok(None);
        }
        let packet = self.buffer.get(self.taken + LENGTHS..).unwrap_or_default();
        let (header, rest) = packet.split_at(head);
        let packet = (
            serde_json::from_slice(header)?,
            rest.get(..body).unwrap_or_default().to_vec(),
        );
        self.taken += LENGTHS + head + body;
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
            if self.buffer.len() > CHUNK {
                // Long packets are rare: their memory is given back.
                self.buffer = Vec::new();
            }
        }
        Ok(Some(packet))
    }

    /// The next file descriptor that came along.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn file(&mut self) -> io::Result<OwnedFd> {
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "a file descriptor is missing");
        self.files.pop_front().ok_or_else(missing)
    }

    /// Receives until so many bytes are there. False: the other side is gone.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.filled - self.taken < count {
            let needed = (self.taken + count).max(self.filled + 1).max(CHUNK);
            if self.buffer.len() < needed {
                self.buffer.resize(needed, 0);
            }
            match self.receive_some() {
                Ok(0) => return Ok(false),
                Ok(received) => self.filled += received,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn receive_some(&mut self) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let place = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let mut parts = [IoSliceMut::new(place)];
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = RecvFlags::empty();
        let received = recvmsg(&self.socket, &mut parts, &mut ancillary, flags)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        Ok(received.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    fn pair() -> (Wire, Wire) {
        let (one, other) = UnixStream::pair().unwrap();
        (Wire::new(one), Wire::new(other))
    }

    #[test]
    fn packets_come_as_they_were_sent() {
        let (mut one, mut other) = pair();
        // Longer than what a socket holds.
        let long = vec![7; 3 << 20];
        let sender = std::thread::spawn(move || {
            one.send(&"a", b"x", &[]).unwrap();
            one.send(&("b", 2), &long, &[]).unwrap();
            one.send(&"c", b"", &[]).unwrap();
        });
        assert_eq!(
            other.receive::<String>().unwrap().unwrap(),
            ("a".to_owned(), b"x".to_vec())
        );
        let (header, body) = other.receive::<(String, u32)>().unwrap().unwrap();
        assert_eq!((header, body.len()), (("b".to_owned(), 2), 3 << 20));
        assert!(body.iter().all(|&byte| byte == 7));
        assert_eq!(other.receive::<String>().unwrap().unwrap().0, "c");
        sender.join().unwrap();
        assert!(other.receive::<String>().unwrap().is_none());
    }

    #[test]
    fn files_come_along() {
        let (mut one, mut other) = pair();
        let (left, mut right) = UnixStream::pair().unwrap();
        one.send(&1, b"", &[]).unwrap();
        one.send(&2, b"", &[left.as_fd()]).unwrap();
        drop((one, left));
        assert_eq!(other.receive::<u32>().unwrap().unwrap().0, 1);
        assert_eq!(other.receive::<u32>().unwrap().unwrap().0, 2);
        let mut left = UnixStream::from(other.file().unwrap());
        assert!(other.file().is_err());
        left.write_all(b"z").unwrap();
        let mut byte = [0];
        io::Read::read_exact(&mut right, &mut byte).unwrap();
        assert_eq!(byte, *b"z");
    }

    #[test]
    fn rubbish_is_an_error() {
        let (one, mut other) = pair();
        (&one.socket).write_all(&[255; 16]).unwrap();
        assert!(other.receive::<u32>().is_err());
        let (one, mut other) = pair();
        (&one.socket).write_all(&[3, 0, 0, 0]).unwrap();
        drop(one);
        assert!(other.receive::<u32>().unwrap().is_none());
    }
}
