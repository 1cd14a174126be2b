//! Plain TCP between programs of one machine.
//!
//! It is neither encrypted nor authenticated. So it neither listens on nor connects to another address than the
//! machine's own.
//!
//! A program listens at one address for several machines. Who connects first sends the name of its machine, and is
//! answered whether it is expected.

mod greeting;

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::packet::MAX_PACKET;
use crate::tcp::greeting::{Greetings, LONGEST_NAME};
use crate::transport::{Connection, FailureReason, Received, Transport, TransportError};

/// How often a listener looks for a connection.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the answer to the name is awaited.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The buffer of each direction: some packets.
const BUFFER: usize = 128 << 10;

/// Opens connections.
#[derive(Clone, Debug)]
pub struct TcpDialer {
    address: SocketAddr,
    /// The name of this machine.
    name: String,
}

/// Accepts connections of one other machine.
#[derive(Debug)]
pub struct TcpAcceptor {
    listener: Arc<Listener>,
    /// Its place among the machines of the listener.
    peer: usize,
}

/// What accepts connections of several machines.
#[derive(Debug)]
struct Listener {
    socket: TcpListener,
    greetings: Mutex<Greetings>,
}

struct TcpConnection {
    stream: TcpStream,
    reader: Mutex<BufReader<TcpStream>>,
    writer: Mutex<BufWriter<TcpStream>>,
}

impl TcpDialer {
    /// Opens connections to an address of this machine. `name`: what this machine is called in the pipeline.
    ///
    /// # Errors
    /// When it is the address of another machine, or the name is too long.
    pub fn new(address: SocketAddr, name: &str) -> io::Result<Self> {
        check(address)?;
        check_name(name)?;
        let name = name.to_owned();
        Ok(Self { address, name })
    }
}

impl TcpAcceptor {
    /// Listens on an address of this machine (port 0: any free one) for these machines. Returns one end for each.
    ///
    /// # Errors
    /// When others can reach the address, when it can't be listened on, or when a name is too long.
    pub fn listen(address: SocketAddr, peers: &[&str]) -> io::Result<Vec<Self>> {
        check(address)?;
        peers.iter().try_for_each(|name| check_name(name))?;
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let listener = Arc::new(Listener {
            socket,
            greetings: Mutex::new(Greetings::new(peers)),
        });
        let ends = (0..peers.len()).map(|peer| Self {
            listener: listener.clone(),
            peer,
        });
        Ok(ends.collect())
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// When the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.socket.local_addr()
    }
}

impl Transport for TcpDialer {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let unreachable =
            |error: io::Error| TransportError::of(FailureReason::Unreachable, error.to_string());
        let stream = TcpStream::connect_timeout(&self.address, wait);
        let mut stream = stream.map_err(unreachable)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let greeted = stream.write_all(&greeting::encode(&self.name));
        greeted.map_err(unreachable)?;
        let mut answer = [0];
        stream.read_exact(&mut answer).map_err(|error| {
            // The systems have different errors and texts for it.
            let is_late = matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            );
            let is_closed = matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
            );
            let (reason, text) = match (is_late, is_closed) {
                (true, _) => (
                    FailureReason::NoAnswer,
                    "what listens there did not answer".to_owned(),
                ),
                (_, true) => (
                    FailureReason::NoAnswer,
                    "what listens there closed the connection".to_owned(),
                ),
                _ => (FailureReason::Unreachable, error.to_string()),
            };
            TransportError::of(reason, text)
        })?;
        if answer != [greeting::EXPECTED] {
            let name = &self.name;
            let why = format!("the program that listens there expects no machine {name}");
            return Err(TransportError::of(FailureReason::OtherMachine, why));
        }
        stream.set_read_timeout(None)?;
        Ok(Some(TcpConnection::wrap(stream)?))
    }

    /// It refuses the addresses of other machines.
    fn is_local(&self) -> bool {
        true
    }
}

impl Transport for TcpAcceptor {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let began = Instant::now();
        loop {
            let greetings = &self.listener.greetings;
            let mut greetings = greetings.lock().unwrap_or_else(PoisonError::into_inner);
            greetings.poll(&self.listener.socket)?;
            let stream = greetings.take(self.peer);
            drop(greetings);
            if let Some(stream) = stream {
                return Ok(Some(TcpConnection::wrap(stream)?));
            }
            if began.elapsed() >= wait {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// It refuses the addresses of other machines.
    fn is_local(&self) -> bool {
        true
    }
}

impl TcpConnection {
    fn wrap(stream: TcpStream) -> io::Result<Arc<dyn Connection>> {
        stream.set_nodelay(true)?;
        let reader = BufReader::with_capacity(BUFFER, stream.try_clone()?);
        let writer = BufWriter::with_capacity(BUFFER, stream.try_clone()?);
        Ok(Arc::new(Self {
            stream,
            reader: Mutex::new(reader),
            writer: Mutex::new(writer),
        }))
    }
}

impl Connection for TcpConnection {
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        let length = u32::try_from(packet.len()).map_err(|_| too_long())?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(&length.to_le_bytes())?;
        writer.write_all(packet)
    }

    fn flush(&self) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.flush()
    }

    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Received> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut length = [0; 4];
        match reader.read_exact(&mut length) {
            Ok(()) => {}
            // Also when it ends within the four bytes: the packet did not arrive.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Received::Closed);
            }
            Err(error) => return Err(error),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_PACKET {
            return Err(too_long());
        }
        packet.resize(length, 0);
        reader.read_exact(packet)?;
        Ok(match starts_with_packet(reader.buffer()) {
            true => Received::PacketOfSeveral,
            false => Received::Packet,
        })
    }

    fn close(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Whether a whole packet is at the start of these bytes.
fn starts_with_packet(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return false;
    };
    rest.len() >= u32::from_le_bytes(*length) as usize
}

fn check(address: SocketAddr) -> io::Result<()> {
    match address.ip().is_loopback() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{address} is not an address of this machine alone: plain TCP is neither encrypted nor authenticated"
            ),
        )),
    }
}

fn check_name(name: &str) -> io::Result<()> {
    match (1..=LONGEST_NAME).contains(&name.len()) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a name of {} bytes can't be that of a machine", name.len()),
        )),
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a packet is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
    const LONG: Duration = Duration::from_secs(60);

    fn listen(peers: &[&str]) -> Vec<TcpAcceptor> {
        TcpAcceptor::listen(LOOPBACK, peers).unwrap()
    }

    /// Waits until an acceptor has a connection. All are asked, as the threads of their links do.
    fn accepted(acceptors: &mut [TcpAcceptor]) -> (usize, Arc<dyn Connection>) {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            for (index, acceptor) in acceptors.iter_mut().enumerate() {
                if let Some(connection) = acceptor.connect(Duration::ZERO).unwrap() {
                    return (index, connection);
                }
            }
        }
        panic!("nobody has connected");
    }

    #[test]
    fn other_machines_are_refused() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7447"] {
            let address = address.parse().unwrap();
            let error = TcpAcceptor::listen(address, &["rack"]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(TcpDialer::new(address, "rack").is_err());
        }
        for name in ["", &"a".repeat(LONGEST_NAME + 1)] {
            assert!(TcpAcceptor::listen(LOOPBACK, &[name]).is_err());
            assert!(TcpDialer::new(LOOPBACK, name).is_err());
        }
    }

    #[test]
    fn one_address_is_for_several_machines() {
        let mut acceptors = listen(&["one", "two"]);
        let address = acceptors[0].address().unwrap();
        for (expected, name) in [(1, "two"), (0, "one"), (1, "two")] {
            let dialing = std::thread::spawn(move || {
                let mut dialer = TcpDialer::new(address, name).unwrap();
                dialer.connect(LONG).unwrap().unwrap()
            });
            let (peer, accepted) = accepted(&mut acceptors);
            assert_eq!(peer, expected);
            let opened = dialing.join().unwrap();
            opened.send(name.as_bytes()).unwrap();
            opened.flush().unwrap();
            let mut packet = Vec::new();
            assert_eq!(accepted.receive(&mut packet).unwrap(), Received::Packet);
            assert_eq!(packet, name.as_bytes());
        }
    }

    #[test]
    fn a_machine_that_is_not_expected_is_answered() {
        let mut acceptors = listen(&["one"]);
        let address = acceptors[0].address().unwrap();
        let dialing = std::thread::spawn(move || {
            let mut dialer = TcpDialer::new(address, "three").unwrap();
            dialer.connect(LONG).err().unwrap().to_string()
        });
        while !dialing.is_finished() {
            assert!(acceptors[0].connect(Duration::ZERO).unwrap().is_none());
        }
        let text = dialing.join().unwrap();
        assert_eq!(
            text,
            "the program that listens there expects no machine three"
        );
    }

    #[test]
    fn an_answer_that_does_not_come_is_named() {
        let silent = std::net::TcpListener::bind(LOOPBACK).unwrap();
        let mut dialer = TcpDialer::new(silent.local_addr().unwrap(), "one").unwrap();
        let error = dialer.connect(LONG).err().unwrap();
        let reason = TransportError::reason(&error);
        assert_eq!(reason, Some(FailureReason::NoAnswer));
        assert_eq!(error.to_string(), "what listens there did not answer");
    }

    #[test]
    fn an_end_in_place_of_an_answer_is_named() {
        let closing = std::net::TcpListener::bind(LOOPBACK).unwrap();
        let mut dialer = TcpDialer::new(closing.local_addr().unwrap(), "one").unwrap();
        let length = greeting::encode("one").len();
        // What is read before the end: all of the greeting, or nothing, which resets the connection on most systems.
        for read in [length, 0] {
            let listening = closing.try_clone().unwrap();
            let accepting = std::thread::spawn(move || {
                let (mut stream, _) = listening.accept().unwrap();
                // All of it has arrived.
                while stream.peek(&mut vec![0; length]).unwrap() < length {}
                stream.read_exact(&mut vec![0; read]).unwrap();
            });
            let error = dialer.connect(LONG).err().unwrap();
            accepting.join().unwrap();
            assert_eq!(
                error.to_string(),
                "what listens there closed the connection"
            );
        }
    }

    #[test]
    fn who_says_nothing_or_too_much_delays_nobody() {
        let mut acceptors = listen(&["one"]);
        let address = acceptors[0].address().unwrap();
        let mut strangers: Vec<_> = (0..2 * greeting::MOST_GREETINGS)
            .map(|number| {
                let mut stream = TcpStream::connect(address).unwrap();
                if number % 2 == 0 {
                    stream.write_all(&[255; 64]).unwrap();
                }
                // So that the queue of the system does not overflow.
                assert!(acceptors[0].connect(Duration::ZERO).unwrap().is_none());
                stream
            })
            .collect();
        let dialing = std::thread::spawn(move || {
            let mut dialer = TcpDialer::new(address, "one").unwrap();
            dialer.connect(LONG).unwrap().unwrap()
        });
        let (_, accepted) = accepted(&mut acceptors);
        dialing.join().unwrap().close();
        let received = accepted.receive(&mut Vec::new()).unwrap();
        assert_eq!(received, Received::Closed);
        // The length was none of a name.
        strangers[0].set_read_timeout(Some(LONG)).unwrap();
        assert!(matches!(strangers[0].read(&mut [0]), Ok(0) | Err(_)));
    }

    #[test]
    fn a_packet_that_has_arrived_is_announced_by_the_one_before() {
        let mut acceptors = listen(&["one"]);
        let mut stream = TcpStream::connect(acceptors[0].address().unwrap()).unwrap();
        stream.write_all(&greeting::encode("one")).unwrap();
        let (_, accepted) = accepted(&mut acceptors);
        // Two packets, and a part of a third one.
        let bytes = [1, 0, 0, 0, 7, 1, 0, 0, 0, 8, 2, 0, 0, 0, 9];
        stream.write_all(&bytes).unwrap();
        let mut packet = Vec::new();
        for (expected, content) in [(Received::PacketOfSeveral, 7), (Received::Packet, 8)] {
            assert_eq!(accepted.receive(&mut packet).unwrap(), expected);
            assert_eq!(packet, [content]);
        }
        drop(stream);
        // The rest of the third one does not come.
        assert!(accepted.receive(&mut packet).is_err());
    }

    #[test]
    fn an_announced_length_is_limited() {
        let mut acceptors = listen(&["one"]);
        let mut stream = TcpStream::connect(acceptors[0].address().unwrap()).unwrap();
        stream.write_all(&greeting::encode("one")).unwrap();
        let (_, accepted) = accepted(&mut acceptors);
        let mut packet = Vec::new();
        stream.write_all(&[3, 0, 0, 0, 1, 2, 3]).unwrap();
        assert_eq!(accepted.receive(&mut packet).unwrap(), Received::Packet);
        assert_eq!(packet, [1, 2, 3]);
        stream
            .write_all(&(MAX_PACKET as u32 + 1).to_le_bytes())
            .unwrap();
        let error = accepted.receive(&mut packet).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        accepted.close();
    }
}
