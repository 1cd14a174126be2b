//! Plain TCP between programs of one machine.
//!
//! It is neither encrypted nor authenticated. So it neither listens on nor connects to another address than the
//! machine's own.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::packet::MAX_PACKET;
use crate::transport::{Connection, Transport};

/// How often a listener looks for a connection.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The buffer of each direction: some packets.
const BUFFER: usize = 128 << 10;

/// Opens connections.
#[derive(Clone, Copy, Debug)]
pub struct TcpDialer(SocketAddr);

/// Accepts connections.
#[derive(Debug)]
pub struct TcpAcceptor(TcpListener);

struct TcpConnection {
    stream: TcpStream,
    reader: Mutex<BufReader<TcpStream>>,
    writer: Mutex<BufWriter<TcpStream>>,
}

impl TcpDialer {
    /// Opens connections to an address of this machine.
    ///
    /// # Errors
    /// When it is the address of another one.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        check(address)?;
        Ok(Self(address))
    }
}

impl TcpAcceptor {
    /// Listens on an address of this machine; port 0: any free one.
    ///
    /// # Errors
    /// When others can reach the address, or it can't be listened on.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        check(address)?;
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// When the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Transport for TcpDialer {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let stream = TcpStream::connect_timeout(&self.0, wait)?;
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
            match self.0.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(Some(TcpConnection::wrap(stream)?));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
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

    fn receive(&self, packet: &mut Vec<u8>) -> io::Result<bool> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut length = [0; 4];
        match reader.read_exact(&mut length) {
            Ok(()) => {}
            // Also when it ends within the four bytes: the packet did not arrive.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_PACKET {
            return Err(too_long());
        }
        packet.resize(length, 0);
        reader.read_exact(packet)?;
        Ok(true)
    }

    fn close(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
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

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a packet is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_refused() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7447"] {
            let address = address.parse().unwrap();
            let error = TcpAcceptor::new(address).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(TcpDialer::new(address).is_err());
        }
    }

    #[test]
    fn an_announced_length_is_limited() {
        let mut acceptor = TcpAcceptor::new(([127, 0, 0, 1], 0).into()).unwrap();
        let mut stream = TcpStream::connect(acceptor.address().unwrap()).unwrap();
        let accepted = acceptor.connect(Duration::from_secs(5)).unwrap().unwrap();
        let mut packet = Vec::new();
        stream.write_all(&[3, 0, 0, 0, 1, 2, 3]).unwrap();
        assert!(accepted.receive(&mut packet).unwrap());
        assert_eq!(packet, [1, 2, 3]);
        stream
            .write_all(&(MAX_PACKET as u32 + 1).to_le_bytes())
            .unwrap();
        let error = accepted.receive(&mut packet).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        accepted.close();
    }
}
