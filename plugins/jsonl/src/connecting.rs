//! Connecting, in steps between which it can be cancelled.

use std::io;
use std::net::{SocketAddr, TcpStream};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::Path;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use rustix::net::addr::SocketAddrArg;
#[cfg(unix)]
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

#[cfg(unix)]
use crate::readiness::wait_writable;

/// How long connecting to an address may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Between two attempts, while others wait for the same socket.
#[cfg(unix)]
const RETRY_EVERY: Duration = Duration::from_millis(10);

/// Whether the work is cancelled, which is checked between two steps.
pub type Cancelled<'a> = &'a mut dyn FnMut() -> bool;

/// Connects to an address. `None`: it was cancelled.
///
/// # Errors
/// When nobody listens there, or nobody answers within 5 seconds.
#[cfg(unix)]
pub fn tcp(address: &SocketAddr, is_cancelled: Cancelled<'_>) -> io::Result<Option<TcpStream>> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let stream = TcpStream::from(socket(family)?);
    stream.set_nonblocking(true)?;
    Ok(connect(&stream, address, is_cancelled)?.then_some(stream))
}

/// Connects to an address. `None`: it was cancelled, before it began.
///
/// # Errors
/// When nobody listens there, or nobody answers within 5 seconds.
#[cfg(not(unix))]
pub fn tcp(address: &SocketAddr, is_cancelled: Cancelled<'_>) -> io::Result<Option<TcpStream>> {
    if is_cancelled() {
        return Ok(None);
    }
    TcpStream::connect_timeout(address, CONNECT_LIMIT).map(Some)
}

/// Connects to the socket of a file. `None`: it was cancelled.
///
/// # Errors
/// When nobody listens there, or others wait there for more than 5 seconds.
#[cfg(unix)]
pub fn unix(path: &Path, is_cancelled: Cancelled<'_>) -> io::Result<Option<UnixStream>> {
    let stream = UnixStream::from(socket(AddressFamily::UNIX)?);
    stream.set_nonblocking(true)?;
    let connected = connect(&stream, &SocketAddrUnix::new(path)?, is_cancelled)?;
    Ok(connected.then_some(stream))
}

/// Whether nobody listens at the socket of a file.
///
/// # Errors
/// When the system has no socket to ask with.
#[cfg(unix)]
pub fn nobody_listens(path: &Path) -> io::Result<bool> {
    let stream = UnixStream::from(socket(AddressFamily::UNIX)?);
    stream.set_nonblocking(true)?;
    let asked = rustix::net::connect(&stream, &SocketAddrUnix::new(path)?);
    Ok(asked == Err(Errno::CONNREFUSED))
}

#[cfg(unix)]
fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// `false`: it was cancelled.
#[cfg(unix)]
fn connect(
    socket: &impl AsFd,
    to: &impl SocketAddrArg,
    is_cancelled: Cancelled<'_>,
) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        match rustix::net::connect(socket, to) {
            Ok(()) | Err(Errno::ISCONN) => return Ok(true),
            Err(Errno::AGAIN) => std::thread::sleep(RETRY_EVERY),
            Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => {
                if wait_writable(socket)? {
                    rustix::net::sockopt::socket_error(socket)??;
                    return Ok(true);
                }
            }
            Err(error) => return Err(error.into()),
        }
        if is_cancelled() {
            return Ok(false);
        }
        if began.elapsed() >= CONNECT_LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
