//! Packets over a Unix socket: a JSON header, a binary body, and file descriptors.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use flowpipe_host::instance::State;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One end of a connection. A packet is the lengths of its header and its body (each 4 bytes, little-endian), the
/// header and the body; file descriptors are attached to its first byte.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: UnixStream,
    /// The bytes between `taken` and `filled` are received and not yet consumed.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    files: VecDeque<OwnedFd>,
    /// The other side may send file descriptors.
    accepts_files: bool,
    /// The timeout of sending, and the deadline of the next packet.
    send_limit: Option<Duration>,
    deadline: Option<Instant>,
}

/// A received packet: the header's value and the body.
pub(crate) type Packet<T> = (T, Vec<u8>);

/// Longer packets are errors. A header may contain all times that a stage read in one call: a million of them.
const LONGEST_HEAD: usize = 16 << 20;
pub(crate) const LONGEST_BODY: usize = 1 << 30;
const LENGTHS: usize = 8;
/// The most file descriptors of one packet.
const MOST_FILES: usize = 4;
const CHUNK: usize = 64 << 10;

impl Wire {
    /// The stage's end. It trusts the host.
    pub(crate) fn to_host(socket: UnixStream) -> Self {
        Self {
            socket,
            buffer: Vec::new(),
            taken: 0,
            filled: 0,
            files: VecDeque::new(),
            accepts_files: true,
            send_limit: None,
            deadline: None,
        }
    }

    /// The host's end. It does not trust the stage: a file descriptor is invalid data, and a packet that takes longer
    /// than `send_limit` to send is an error.
    ///
    /// # Errors
    /// When the socket's timeout can't be set.
    pub(crate) fn to_child(socket: UnixStream, send_limit: Duration) -> io::Result<Self> {
        let mut wire = Self::to_host(socket);
        wire.accepts_files = false;
        wire.send_within(send_limit)?;
        Ok(wire)
    }

    /// Sets the time after which [`Self::send`] fails with [`io::ErrorKind::TimedOut`].
    ///
    /// # Errors
    /// When the socket's timeout can't be set.
    pub(crate) fn send_within(&mut self, limit: Duration) -> io::Result<()> {
        self.send_limit = Some(limit);
        self.socket.set_write_timeout(self.send_limit)
    }

    /// Sets the time at which [`Self::receive`] fails with [`io::ErrorKind::WouldBlock`], however much of a packet was
    /// received.
    ///
    /// # Errors
    /// When the socket's timeout can't be set.
    pub(crate) fn wait_until(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.deadline = deadline;
        match deadline {
            Some(_) => Ok(()),
            None => self.socket.set_read_timeout(None),
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// When the other side is gone, or takes longer than it may.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        header: &T,
        body: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut head = vec![0; LENGTHS];
        serde_json::to_writer(&mut head, header)?;
        let length = |length: usize, longest: usize| {
            (length <= longest)
                .then_some(length as u32)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "too long"))
        };
        let lengths = [
            length(head.len() - LENGTHS, LONGEST_HEAD)?,
            length(body.len(), LONGEST_BODY)?,
        ];
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
                Err(rustix::io::Errno::AGAIN) => return Err(send_timed_out()),
                sent => break sent?,
            }
        };
        if sent == head.len() + body.len() {
            return Ok(());
        }
        // The rest, if the first send was partial.
        let limit = self.send_limit.map(|limit| Instant::now() + limit);
        self.send_rest(head.get(sent..).unwrap_or_default(), limit)?;
        let rest = body.get(sent.saturating_sub(head.len())..);
        self.send_rest(rest.unwrap_or_default(), limit)
    }

    fn send_rest(&mut self, mut bytes: &[u8], limit: Option<Instant>) -> io::Result<()> {
        while !bytes.is_empty() {
            if limit.is_some_and(|limit| Instant::now() >= limit) {
                return Err(send_timed_out());
            }
            match self.socket.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(send_timed_out());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for the next packet. `None`: the other side is gone.
    ///
    /// # Errors
    /// When the received bytes are no packet, or at the deadline.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<Packet<T>>> {
        if !self.fill(LENGTHS)? {
            return Ok(None);
        }
        let at = |place: usize| {
            let bytes = self.buffer.get(self.taken + place..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes) as usize)
        };
        let (head, body) = (at(0).unwrap_or(usize::MAX), at(4).unwrap_or(usize::MAX));
        if head > LONGEST_HEAD || body > LONGEST_BODY {
            return Err(invalid("too long"));
        }
        if !self.fill(LENGTHS + head + body)? {
            return Ok(None);
        }
        let packet = self.buffer.get(self.taken + LENGTHS..).unwrap_or_default();
        let (header, rest) = packet.split_at(head);
        let packet = (
            serde_json::from_slice(header).map_err(|error| invalid(&error.to_string()))?,
            rest.get(..body).unwrap_or_default().to_vec(),
        );
        self.taken += LENGTHS + head + body;
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
            if self.buffer.len() > CHUNK {
                // Long packets are rare: their memory is freed.
                self.buffer = Vec::new();
            }
        }
        Ok(Some(packet))
    }

    /// The next received file descriptor.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn file(&mut self) -> io::Result<OwnedFd> {
        let file = self.files.pop_front();
        file.ok_or_else(|| invalid("a file descriptor is missing"))
    }

    /// Receives until this many bytes are buffered. False: the other side is gone.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.filled - self.taken < count {
            self.make_room();
            match self.receive_some() {
                Ok(0) => return Ok(false),
                Ok(received) => self.filled += received,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if !self.accepts_files && !self.files.is_empty() {
                self.files.clear();
                return Err(invalid("it sent a file descriptor"));
            }
        }
        Ok(true)
    }

    /// Grows the buffer by the bytes that were received, not by those that were announced.
    fn make_room(&mut self) {
        if self.filled < self.buffer.len() {
            return;
        }
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        } else {
            self.buffer.resize((self.filled * 2).max(CHUNK), 0);
        }
    }

    fn receive_some(&mut self) -> rustix::io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(rustix::io::Errno::AGAIN);
            }
            rustix::net::sockopt::set_socket_timeout(
                &self.socket,
                rustix::net::sockopt::Timeout::Recv,
                Some(left),
            )?;
        }
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

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn send_timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not read what it is sent")
}

/// Checks that a state fits into a packet.
///
/// # Errors
/// A sentence for users.
pub(crate) fn sendable(state: &State) -> Result<(), String> {
    let length = state.json.len();
    match length <= LONGEST_BODY {
        true => Ok(()),
        false => Err(format!(
            "it has {length} bytes; the limit between processes is {}",
            LONGEST_BODY
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    /// The child's end and the host's end.
    fn pair() -> (Wire, Wire) {
        let (one, other) = UnixStream::pair().unwrap();
        let limit = Duration::from_millis(200);
        (Wire::to_host(one), Wire::to_child(other, limit).unwrap())
    }

    #[test]
    fn packets_arrive_as_sent() {
        let (mut one, mut other) = pair();
        // Longer than a socket's buffer.
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
    fn files_arrive_with_packets() {
        let (mut other, mut one) = pair();
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
    fn malformed_input_is_an_error() {
        let (one, mut other) = pair();
        (&one.socket).write_all(&[255; 16]).unwrap();
        assert!(other.receive::<u32>().is_err());
        let (one, mut other) = pair();
        (&one.socket).write_all(&[3, 0, 0, 0]).unwrap();
        drop(one);
        assert!(other.receive::<u32>().unwrap().is_none());
    }

    #[test]
    fn announced_lengths_allocate_nothing() {
        let (one, mut other) = pair();
        for length in [LONGEST_HEAD, LONGEST_BODY] {
            (&one.socket)
                .write_all(&(length as u32).to_le_bytes())
                .unwrap();
        }
        other
            .wait_until(Some(Instant::now() + Duration::from_millis(50)))
            .unwrap();
        let error = other.receive::<u32>().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(other.buffer.len() <= CHUNK, "{}", other.buffer.len());
    }

    #[test]
    fn a_fast_sender_does_not_grow_the_buffer() {
        let (mut one, mut other) = pair();
        one.send(&0, &[0; 100], &[]).unwrap();
        for number in 1..3000 {
            one.send(&number, &[0; 100], &[]).unwrap();
            assert_eq!(other.receive::<u32>().unwrap().unwrap().0, number - 1);
        }
        assert!(other.buffer.len() <= CHUNK, "{}", other.buffer.len());
    }

    #[test]
    fn files_from_a_child_are_refused() {
        let (mut one, mut other) = pair();
        one.send(&1, b"", &[io::stdin().as_fd()]).unwrap();
        let error = other.receive::<u32>().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(other.files.is_empty());
    }

    #[test]
    fn a_slow_sender_does_not_extend_the_deadline() {
        let (one, mut other) = pair();
        let began = Instant::now();
        std::thread::spawn(move || {
            let announced = [0, 0, 1, 0, 0, 0, 0, 0];
            let mut bytes = announced.iter().chain(std::iter::repeat(&b' '));
            while began.elapsed() < Duration::from_secs(30) {
                let sent = (&one.socket).write_all(&[*bytes.next().unwrap()]);
                if sent.is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        other
            .wait_until(Some(began + Duration::from_millis(200)))
            .unwrap();
        let error = other.receive::<u32>().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_peer_that_does_not_read_times_out() {
        let (one, mut other) = pair();
        // The first fills the socket's buffer, the second finds it full.
        for _ in 0..2 {
            let error = other.send(&"long", &vec![0; 8 << 20], &[]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        drop(one);
    }
}
