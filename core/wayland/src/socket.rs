//! Connections to the compositor's sockets, and where the session's is.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// Why it is not known where the session's socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// The session has no compositor.
    #[error("WAYLAND_DISPLAY is not set")]
    NoDisplay,
    /// The name of its socket is relative to a folder that is not known.
    #[error("XDG_RUNTIME_DIR names no folder")]
    NoFolder,
}

/// The path of the socket that the environment names. An inherited connection (`WAYLAND_SOCKET`) is not used: there would be
/// one for the first that connects, and the others would be elsewhere.
///
/// # Errors
/// When it names none.
pub fn of_session() -> Result<PathBuf, NoSession> {
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    let folder = path("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute());
    match (path("WAYLAND_DISPLAY"), folder) {
        (Some(name), _) if name.is_absolute() => Ok(name),
        (Some(name), Some(folder)) => Ok(folder.join(name)),
        (Some(_), None) => Err(NoSession::NoFolder),
        (None, _) => Err(NoSession::NoDisplay),
    }
}

/// Connects to a socket. One that has as many connections waiting as it takes is an error: a compositor that stands still
/// would be waited for without a limit.
///
/// # Errors
/// When nothing accepts the connection at once.
pub fn open(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?).map_err(|error| match error {
        Errno::AGAIN => io::Error::new(io::ErrorKind::WouldBlock, "it takes no connections now"),
        error => error.into(),
    })?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use rustix::net::{bind, listen};

    use super::*;

    #[test]
    fn a_socket_that_takes_no_more_connections_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let flags = SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&listener, 1).unwrap();
        let opened: Vec<_> = std::iter::from_fn(|| open(&path).ok()).take(100).collect();
        assert!((1..10).contains(&opened.len()), "{}", opened.len());
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
