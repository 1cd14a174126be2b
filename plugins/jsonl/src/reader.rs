//! The bytes of a source's end.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use flowpipe_plugin::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::readiness::is_readable;
use crate::stream::{Listener, Stream, is_for_later, open_to_read, standard_input};

/// The most bytes that are read at once.
pub const AT_ONCE: usize = 64 << 10;

/// A connection that has sent nothing for so long gives way to one that waits.
const GIVES_WAY_AFTER: Duration = Duration::from_secs(10);

/// An open end.
pub struct Reader {
    address: Address,
    stream: Option<Stream>,
    listener: Option<Listener>,
    keeps_listening: bool,
    /// How many connections there were that sent something.
    connections: u64,
    /// The stream has sent something.
    has_sent: bool,
    /// When the connection was accepted.
    accepted: Instant,
    /// How many bytes were read.
    read: u64,
    /// A named pipe had a writer before it was opened here: without one, it has ended.
    had_writer: bool,
    buffer: Box<[u8]>,
}

/// What reading came to.
pub enum Arrival<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Nothing yet.
    Nothing,
    /// A connection has ended, and there may be another.
    ConnectionEnd,
    /// A connection is broken, and there may be another.
    ConnectionBroken {
        /// Why.
        error: io::Error,
        /// Whether it had sent something.
        has_sent: bool,
    },
    /// The end of the stream.
    End,
}

/// How far a regular file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    /// The numbers of its device and its inode.
    file: [u64; 2],
    /// How many bytes are before it.
    bytes: u64,
}

impl Reader {
    /// Opens an end: connects, or listens.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(address: Address, listen: bool, keeps_listening: bool) -> Result<Self> {
        let (stream, listener) = match (&address, listen) {
            (Address::File(path), _) => (Some(open_to_read(path)?), None),
            (Address::Standard(_), _) => (Some(standard_input()?), None),
            (_, true) => (None, Some(Listener::bind(&address)?)),
            (_, false) => (Some(Stream::connect(&address, &mut || false)?), None),
        };
        Ok(Self {
            address,
            stream,
            listener,
            keeps_listening,
            connections: 0,
            has_sent: false,
            accepted: Instant::now(),
            read: 0,
            had_writer: false,
            buffer: vec![0; AT_ONCE].into(),
        })
    }

    /// How far a regular file was read that the config names. `None`: it is something else.
    ///
    /// # Errors
    /// When the system can't report it.
    pub fn file_position(&self) -> io::Result<Option<FilePosition>> {
        let (Address::File(_), Some(Stream::File(file))) = (&self.address, &self.stream) else {
            return Ok(None);
        };
        let metadata = file.metadata()?;
        let position = FilePosition {
            file: identity(&metadata),
            bytes: self.read,
        };
        Ok(metadata.is_file().then_some(position))
    }

    /// Continues where another reader of the same end stopped, which had read up to `position`, or had read something.
    /// `false`: there is another file now, which is read from its start.
    ///
    /// # Errors
    /// When the file can't be read there.
    pub fn resume(&mut self, position: Option<FilePosition>, has_sent: bool) -> io::Result<bool> {
        match (self.file_position()?, position, &mut self.stream) {
            (Some(here), Some(there), Some(Stream::File(file))) if here.file == there.file => {
                file.seek(SeekFrom::Start(there.bytes))?;
                self.read = there.bytes;
            }
            (None, None, _) => self.had_writer = has_sent,
            _ => return Ok(false),
        }
        self.has_sent = has_sent;
        Ok(true)
    }

    /// Reads what is there, without waiting for it where the system can report that nothing is.
    ///
    /// # Errors
    /// When the stream is broken. It has ended then.
    pub fn read(&mut self) -> Result<Arrival<'_>> {
        let Some(stream) = &mut self.stream else {
            return Ok(self.accept());
        };
        let is_file = matches!(self.address, Address::File(_));
        let is_ready = match self.had_writer && is_file {
            // Opened as one that does not wait.
            true => Ok(true),
            false => is_readable(stream),
        };
        let read = match is_ready {
            Ok(true) => stream.read(&mut self.buffer),
            Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => {
                self.stream = None;
                if self.has_sent {
                    self.count_connection();
                }
                Ok(self.end())
            }
            Ok(count) => {
                if !std::mem::replace(&mut self.has_sent, true) {
                    self.connections += 1;
                }
                self.read += count as u64;
                Ok(Arrival::Bytes(&self.buffer[..count]))
            }
            Err(error) if is_for_later(&error) => {
                self.give_way();
                Ok(Arrival::Nothing)
            }
            Err(error) => {
                self.stream = None;
                if self.has_sent {
                    self.count_connection();
                }
                let has_sent = self.has_sent;
                match self.listener {
                    Some(_) => Ok(Arrival::ConnectionBroken { error, has_sent }),
                    None => Err(Error::from(error).context(format!("can't read {}", self.address))),
                }
            }
        }
    }

    /// Whether something was read.
    pub fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// The connection is one that counts: if it is the only one, no other is accepted.
    pub fn count_connection(&mut self) {
        if !self.keeps_listening {
            self.listener = None;
        }
    }

    /// Whether there may be anybody at the other end.
    pub fn is_connection(&self) -> bool {
        matches!(self.address, Address::Unix(_) | Address::Tcp(..))
    }

    /// Closes the connection, which does not count.
    pub fn close_connection(&mut self) {
        self.stream = None;
    }

    fn accept(&mut self) -> Arrival<'static> {
        let Some(listener) = &mut self.listener else {
            return Arrival::End;
        };
        self.stream = listener.accept();
        self.has_sent = false;
        self.accepted = Instant::now();
        Arrival::Nothing
    }

    /// Replaces a connection that has sent nothing for long by one that waits.
    fn give_way(&mut self) {
        if self.has_sent || self.accepted.elapsed() < GIVES_WAY_AFTER {
            return;
        }
        if let Some(next) = self.listener.as_mut().and_then(Listener::accept) {
            self.stream = Some(next);
            self.accepted = Instant::now();
        }
    }

    /// What the end of the stream means. A connection that has sent nothing does not count: it may have been a question
    /// whether somebody listens. Nor does one that was closed here.
    fn end(&self) -> Arrival<'static> {
        match self.listener {
            Some(_) => Arrival::ConnectionEnd,
            None => Arrival::End,
        }
    }

    /// Where the bytes come from, for people.
    pub fn place(&self) -> String {
        match (self.keeps_listening, self.connections) {
            (true, number) => format!("{}, connection {number}", self.address),
            (false, _) => self.address.to_string(),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> [u64; 2] {
    use std::os::unix::fs::MetadataExt as _;
    [metadata.dev(), metadata.ino()]
}

/// All files count as one: the path is the same.
#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> [u64; 2] {
    [0, 0]
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// What comes within a tenth of a second.
    fn read(reader: &mut Reader) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..50 {
            if let Arrival::Bytes(part) = reader.read().unwrap() {
                bytes.extend_from_slice(part);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bytes
    }

    #[test]
    fn a_silent_connection_gives_way_to_one_that_waits() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = free.local_addr().unwrap();
        drop(free);
        let address = Address::Tcp(tcp.to_string(), vec![tcp]);
        let mut reader = Reader::open(address, true, true).unwrap();
        let connect = || TcpStream::connect(tcp).unwrap();
        let _silent = connect();
        assert_eq!(read(&mut reader), b"");
        let mut waiting = connect();
        waiting.write_all(b"waiting").unwrap();
        assert_eq!(read(&mut reader), b"");
        let later = |reader: &mut Reader| {
            let before = reader.accepted.checked_sub(GIVES_WAY_AFTER);
            reader.accepted = before.unwrap();
        };
        later(&mut reader);
        assert_eq!(read(&mut reader), b"waiting");
        // One that has sent something does not.
        later(&mut reader);
        let mut last = connect();
        last.write_all(b"last").unwrap();
        assert_eq!(read(&mut reader), b"");
        drop(waiting);
        assert_eq!(read(&mut reader), b"last");
    }
}
