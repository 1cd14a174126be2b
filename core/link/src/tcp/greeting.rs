//! The first bytes of a connection: the name of the machine that opens it, and the answer.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The longest name of a machine, in bytes.
pub(super) const LONGEST_NAME: usize = 128;
/// The answer to the name of a machine that is expected.
pub(super) const EXPECTED: u8 = 1;
/// The answer to another name.
const UNEXPECTED: u8 = 0;
/// Connections at a time that have not sent their name. One more closes the oldest.
pub(super) const MOST_GREETINGS: usize = 64;
/// Connections of one machine that nobody has taken. One more closes the oldest.
const MOST_GREETED: usize = 8;
/// How long a name is awaited.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The connections that a listener has accepted and nobody has taken.
#[derive(Debug)]
pub(super) struct Greetings {
    peers: Vec<Expected>,
    unknown: VecDeque<Greeting>,
}

/// A machine that may connect.
#[derive(Debug)]
struct Expected {
    name: String,
    greeted: VecDeque<TcpStream>,
}

/// A connection whose name has not arrived.
#[derive(Debug)]
struct Greeting {
    stream: TcpStream,
    /// The length of the name, and what has arrived of it.
    bytes: Vec<u8>,
    since: Instant,
}

/// What opens a connection: the length of the name, and the name, which has at most [`LONGEST_NAME`] bytes.
pub(super) fn encode(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    [&[length][..], name.as_bytes()].concat()
}

impl Greetings {
    pub(super) fn new(peers: &[&str]) -> Self {
        let peers = peers.iter().map(|name| Expected {
            name: (*name).to_owned(),
            greeted: VecDeque::new(),
        });
        Self {
            peers: peers.collect(),
            unknown: VecDeque::new(),
        }
    }

    /// Accepts connections, and reads names, without waiting.
    pub(super) fn poll(&mut self, socket: &TcpListener) -> io::Result<()> {
        for _ in 0..MOST_GREETINGS {
            match socket.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    if self.unknown.len() == MOST_GREETINGS {
                        self.unknown.pop_front();
                    }
                    self.unknown.push_back(Greeting {
                        stream,
                        bytes: Vec::new(),
                        since: Instant::now(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // One connection is gone already.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
        for mut greeting in std::mem::take(&mut self.unknown) {
            match greeting.read() {
                Ok(None) if greeting.since.elapsed() < TIMEOUT => self.unknown.push_back(greeting),
                Ok(None) | Err(_) => {}
                // A connection that fails now is that of nobody.
                Ok(Some(name)) => drop(self.answer(greeting.stream, &name)),
            }
        }
        Ok(())
    }

    /// A connection of a machine.
    pub(super) fn take(&mut self, peer: usize) -> Option<TcpStream> {
        self.peers.get_mut(peer)?.greeted.pop_front()
    }

    fn answer(&mut self, mut stream: TcpStream, name: &[u8]) -> io::Result<()> {
        let mut peers = self.peers.iter_mut();
        let peer = peers.find(|peer| peer.name.as_bytes() == name);
        let answer = match peer {
            Some(_) => EXPECTED,
            None => UNEXPECTED,
        };
        stream.write_all(&[answer])?;
        stream.set_nonblocking(false)?;
        if let Some(peer) = peer {
            if peer.greeted.len() == MOST_GREETED {
                peer.greeted.pop_front();
            }
            peer.greeted.push_back(stream);
        }
        Ok(())
    }
}

impl Greeting {
    /// Reads what has arrived, and not more than the name. Returns the name when it is complete.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let needed = match self.bytes.first() {
                None => 1,
                Some(&length) => 1 + usize::from(length),
            };
            if needed > 1 + LONGEST_NAME {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let have = self.bytes.len();
            if have == needed {
                return Ok(Some(self.bytes.split_off(1)));
            }
            self.bytes.resize(needed, 0);
            let read = self.stream.read(&mut self.bytes[have..]);
            self.bytes
                .truncate(have + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
