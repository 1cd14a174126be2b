//! Files, pipes and connections. Connections never wait by themselves: [`readiness`](crate::readiness) and [`idle`](crate::idle) do.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(not(unix))]
use std::time::Duration;

use flowpipe_plugin::{Error, Result, tracing};

use crate::address::Address;
use crate::connecting::{self, Cancelled};

/// Where the system can't wait for a connection, reading and writing end after this time.
#[cfg(not(unix))]
const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// What to do where an address is in use.
const IN_USE: &str = "another program or stage listens there. A stage that listens can't be replaced while the run goes \
                      on: restart the run, or choose another address";

/// An open stream.
pub enum Stream {
    /// A file, a pipe, or a standard stream.
    File(File),
    /// A connection.
    Tcp(TcpStream),
    /// A connection.
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A socket that others connect to.
pub struct Listener {
    socket: ListenerSocket,
    /// The system had no room for the last connection, and that was logged.
    is_full: bool,
}

enum ListenerSocket {
    /// At an address.
    Tcp(TcpListener),
    /// At a file, which is removed at the end.
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

impl Stream {
    /// Connects to a socket.
    ///
    /// # Errors
    /// When nobody listens there, and [`Error::cancelled`].
    pub fn connect(address: &Address, is_cancelled: Cancelled<'_>) -> Result<Self> {
        let connected = match address {
            Address::Tcp(_, all) => {
                let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
                let mut connected = None;
                for one in all {
                    match connecting::tcp(one, is_cancelled) {
                        Ok(Some(stream)) => {
                            connected = Some(Self::Tcp(stream));
                            break;
                        }
                        Ok(None) => return Err(Error::cancelled()),
                        Err(error) => last = error,
                    }
                }
                connected.ok_or(last)
            }
            #[cfg(unix)]
            Address::Unix(path) => match connecting::unix(path, is_cancelled) {
                Ok(Some(stream)) => Ok(Self::Unix(stream)),
                Ok(None) => return Err(Error::cancelled()),
                Err(error) => Err(error),
            },
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        let prepared = connected.and_then(Self::prepared);
        prepared.map_err(|error| Error::from(error).context(format!("can't connect to {address}")))
    }

    /// The same connection, which never waits.
    fn prepared(self) -> io::Result<Self> {
        match &self {
            Self::File(_) => {}
            Self::Tcp(stream) => {
                // A line is sent when it is written.
                stream.set_nodelay(true)?;
                #[cfg(unix)]
                {
                    stream.set_nonblocking(true)?;
                    keep_alive(stream)?;
                }
                #[cfg(not(unix))]
                {
                    stream.set_read_timeout(Some(LONGEST_WAIT))?;
                    stream.set_write_timeout(Some(LONGEST_WAIT))?;
                }
            }
            #[cfg(unix)]
            Self::Unix(stream) => stream.set_nonblocking(true)?,
        }
        Ok(self)
    }
}

impl Listener {
    /// Listens at a socket.
    ///
    /// # Errors
    /// When another program does, or the system refuses it.
    pub fn bind(address: &Address) -> Result<Self> {
        let bound = match address {
            Address::Tcp(_, all) => TcpListener::bind(&all[..]).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(ListenerSocket::Tcp(listener))
            }),
            #[cfg(unix)]
            Address::Unix(path) => bind_file(path).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(ListenerSocket::Unix(listener, path.clone()))
            }),
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        let failed = |error: io::Error| {
            let error = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    io::Error::new(error.kind(), format!("{error}: {IN_USE}"))
                }
                _ => error,
            };
            Error::from(error).context(format!("can't listen at {address}"))
        };
        Ok(Self {
            socket: bound.map_err(failed)?,
            is_full: false,
        })
    }

    /// The next connection, if there is one. One that can't be accepted concerns nobody else: the next one may be.
    pub fn accept(&mut self) -> Option<Stream> {
        let accepted = match &self.socket {
            ListenerSocket::Tcp(listener) => {
                listener.accept().map(|(stream, _)| Stream::Tcp(stream))
            }
            #[cfg(unix)]
            ListenerSocket::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| Stream::Unix(stream))
            }
        };
        self.usable(accepted)
    }

    fn usable(&mut self, accepted: io::Result<Stream>) -> Option<Stream> {
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) if is_for_later(&error) => return None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                tracing::debug!("a connection ended before it was accepted: {error}");
                return None;
            }
            Err(error) => {
                // It is tried again and again.
                if !std::mem::replace(&mut self.is_full, true) {
                    tracing::warn!("no connection can be accepted for now: {error}");
                }
                return None;
            }
        };
        self.is_full = false;
        let prepared = stream.prepared();
        prepared
            .inspect_err(|error| tracing::debug!("a connection ended as it was accepted: {error}"))
            .ok()
    }
}

/// Lets the system end a connection whose other machine has gone, within some two minutes.
#[cfg(unix)]
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    // The default is two hours.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use std::time::Duration;
        sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
        sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
        sockopt::set_tcp_keepcnt(stream, 6)?;
    }
    Ok(())
}

/// Listens at a file. One that a program left behind, at which nobody listens, is replaced.
#[cfg(unix)]
fn bind_file(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                let why = "there is a file of that name that is no socket: remove it, or choose another name";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            if connecting::nobody_listens(path)? {
                std::fs::remove_file(path)?;
                return UnixListener::bind(path);
            }
            Err(error)
        }
        bound => bound,
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let ListenerSocket::Unix(_, path) = &self.socket {
            // Another program may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens a file to read. A named pipe without a writer does not keep it waiting.
///
/// # Errors
/// When it can't be read.
pub fn open_to_read(path: &Path) -> Result<Stream> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A terminal does not become that of this program.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = options
        .open(path)
        .and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(Stream::File(file)),
        });
    opened.map_err(|error| {
        let text = format!("can't open {}: {error}", path.display());
        Error::bad_config(text)
    })
}

/// Opens a named pipe or a device to write. `None`: nobody reads the pipe.
///
/// # Errors
/// When it can't be written.
pub fn open_to_write(path: &Path) -> Result<Option<Stream>> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A terminal does not become that of this program.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    match options.open(path) {
        Ok(file) => Ok(Some(Stream::File(file))),
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => {
            let text = format!("can't write {}: {error}", path.display());
            Err(Error::bad_config(text))
        }
    }
}

/// Standard input, without what others have buffered of it.
///
/// # Errors
/// When it is closed.
pub fn standard_input() -> io::Result<Stream> {
    #[cfg(unix)]
    let copy = io::stdin().as_fd().try_clone_to_owned()?;
    #[cfg(windows)]
    let copy = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned()?;
    Ok(Stream::File(File::from(copy)))
}

/// Standard output, without what others have buffered for it.
///
/// # Errors
/// When it is closed.
pub fn standard_output() -> io::Result<Stream> {
    #[cfg(unix)]
    let copy = io::stdout().as_fd().try_clone_to_owned()?;
    #[cfg(windows)]
    let copy = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(Stream::File(File::from(copy)))
}

/// Whether to try again later: nothing is there yet.
pub fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    match error.kind() {
        WouldBlock | Interrupted => true,
        // Elsewhere the other machine has gone: a connection that never waits has no timeout of its own.
        TimedOut => cfg!(not(unix)),
        _ => false,
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::File(file) => file.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// No other one suffers from it, and the run goes on.
    #[test]
    fn a_connection_that_can_not_be_accepted_is_none() {
        let any = Address::Tcp("any".to_owned(), vec!["127.0.0.1:0".parse().unwrap()]);
        let mut listener = Listener::bind(&any).unwrap();
        let full = || io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(listener.usable(Err(full())).is_none());
        assert!(listener.is_full);
        let aborted = io::ErrorKind::ConnectionAborted;
        assert!(listener.usable(Err(aborted.into())).is_none());
        let (stream, _other) = UnixStream::pair().unwrap();
        assert!(listener.usable(Ok(Stream::Unix(stream))).is_some());
        assert!(!listener.is_full);
    }
}
