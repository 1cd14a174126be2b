//! The bytes of a source's end.

use std::io::Read;

use flowpipe_plugin::{Error, Result};

use crate::address::Address;
use crate::readiness::is_readable;
use crate::stream::{Listener, Stream, is_for_later, open_to_read, standard_input};

/// The most bytes that are read at once.
pub const AT_ONCE: usize = 64 << 10;

/// An open end.
pub struct Reader {
    address: Address,
    stream: Option<Stream>,
    listener: Option<Listener>,
    keeps_listening: bool,
    /// How many connections there were that sent something.
    connections: u64,
    /// The connection has sent something.
    has_sent: bool,
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
    /// The end of the stream.
    End,
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
            (_, false) => (Some(Stream::connect(&address, &|| false)?), None),
        };
        Ok(Self {
            address,
            stream,
            listener,
            keeps_listening,
            connections: 0,
            has_sent: false,
            buffer: vec![0; AT_ONCE].into(),
        })
    }

    /// Reads what is there, without waiting for it where the system can report that nothing is.
    ///
    /// # Errors
    /// When the stream is broken. It has ended then.
    pub fn read(&mut self) -> Result<Arrival<'_>> {
        let Some(stream) = &mut self.stream else {
            return self.accept();
        };
        let read = match is_readable(stream) {
            Ok(true) => stream.read(&mut self.buffer),
            Ok(false) => return Ok(Arrival::Nothing),
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
                Ok(Arrival::Bytes(&self.buffer[..count]))
            }
            Err(error) if is_for_later(&error) => Ok(Arrival::Nothing),
            Err(error) => {
                self.stream = None;
                Err(Error::from(error).context(format!("can't read {}", self.address)))
            }
        }
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

    fn accept(&mut self) -> Result<Arrival<'_>> {
        let Some(listener) = &self.listener else {
            return Ok(Arrival::End);
        };
        let accepted = listener.accept();
        let failed =
            |error| Error::from(error).context(format!("can't listen at {}", self.address));
        self.stream = accepted.map_err(failed)?;
        self.has_sent = false;
        Ok(Arrival::Nothing)
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
