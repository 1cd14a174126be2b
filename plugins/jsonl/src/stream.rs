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

use flowpipe_plugin::{Error, Result};

use crate::address::Address;
use crate::connecting::{self, Cancelled};

/// Where the system can't wait for a connection, reading and writing end after this time.
#[cfg(not(unix))]
const LONGEST_WAIT: Duration = Duration::from_millis(10);

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
pub enum Listener {
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
                stream.set_nonblocking(true)?;
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
                Ok(Self::Tcp(listener))
            }),
            #[cfg(unix)]
            Address::Unix(path) => bind_file(path).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(Self::Unix(listener, path.clone()))
            }),
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        bound.map_err(|error| Error::from(error).context(format!("can't listen at {address}")))
    }

    /// The next connection, if there is one.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match self {
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            #[cfg(unix)]
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => stream.prepared().map(Some),
            Err(error) if is_for_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
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
        if let Self::Unix(_, path) = self {
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
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
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
    matches!(error.kind(), WouldBlock | Interrupted | TimedOut)
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

#[cfg(unix)]
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}
