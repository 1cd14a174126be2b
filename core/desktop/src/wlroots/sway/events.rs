//! Events of sway, on a connection that has subscribed to them.

use std::io::{self, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;

use super::{HEADER, Header};

/// Events as they come.
pub(super) struct Events {
    stream: UnixStream,
    /// What was read and belongs to no event that was returned.
    received: Vec<u8>,
    /// How many bytes of an event that is too long are still to come.
    skipped: usize,
}

/// An event.
pub(super) struct Event {
    /// Its number, by `sway-ipc(7)`.
    pub kind: u32,
    /// JSON.
    pub text: Vec<u8>,
}

/// The longest event that is read, in bytes. That of a key has about 200; longer ones are of windows and workspaces.
const LONGEST: usize = 64 << 10;
/// How much is read at once, in bytes, and how often before the caller gets its turn.
const PART: usize = 8 << 10;
const MOST_PARTS: usize = 100;

impl Events {
    /// Those of a connection, which is not waited for from now on.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
            skipped: 0,
        })
    }

    /// The next event that is there. `Ok(None)`: none has come to its end yet.
    ///
    /// # Errors
    /// When sway has closed the connection, or sends something else.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        for _ in 0..MOST_PARTS {
            if let Some(event) = self.received_event()? {
                return Ok(Some(event));
            }
            let mut part = [0; PART];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// An event that was read to its end.
    fn received_event(&mut self) -> io::Result<Option<Event>> {
        let skipped = self.skipped.min(self.received.len());
        self.received.drain(..skipped);
        self.skipped -= skipped;
        let Some(header) = self.received.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let Header { kind, length } = Header::read(header)?;
        if length > LONGEST {
            self.skipped = HEADER + length;
            return Ok(None);
        }
        if self.received.len() < HEADER + length {
            return Ok(None);
        }
        let rest = self.received.split_off(HEADER + length);
        let mut text = std::mem::replace(&mut self.received, rest);
        text.drain(..HEADER);
        Ok(Some(Event { kind, text }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::wlroots::sway::MAGIC;

    fn event(kind: u32, text: &[u8]) -> Vec<u8> {
        let length = text.len() as u32;
        [MAGIC, &length.to_ne_bytes()[..], &kind.to_ne_bytes(), text].concat()
    }

    #[test]
    fn events_come_in_parts_and_long_ones_are_left_out() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut events = Events::new(ours).unwrap();
        assert!(events.next().unwrap().is_none());
        let sent = [
            event(5, b"{}"),
            event(0, &vec![b' '; LONGEST + 1]),
            event(7, b"[1]"),
        ];
        let mut got = Vec::new();
        for part in sent.concat().chunks(1000) {
            theirs.write_all(part).unwrap();
            while let Some(event) = events.next().unwrap() {
                got.push((event.kind, event.text));
            }
            assert!(events.received.len() <= PART);
        }
        assert_eq!(got, [(5, b"{}".to_vec()), (7, b"[1]".to_vec())]);
        drop(theirs);
        assert!(events.next().is_err());
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        assert!(Events::new(ours).unwrap().next().is_err());
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(MAGIC).unwrap();
        theirs.write_all(&[255; 8]).unwrap();
        // Longer than anything that sway sends.
        assert!(Events::new(ours).unwrap().next().is_err());
    }
}
