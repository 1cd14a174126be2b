//! Connections to the compositor's sockets, and where the session's is.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::Pid;

/// Why it is not known where the session's socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// The session has no compositor.
    #[error("WAYLAND_DISPLAY is not set")]
    NoDisplay,
    /// The name of its socket is relative to a folder that is not known.
    #[error("XDG_RUNTIME_DIR is not set")]
    NoFolder,
}

/// The path of the socket that the environment names. An inherited connection (`WAYLAND_SOCKET`) is not used: there would be
/// one for the first that connects, and the others would be elsewhere.
///
/// # Errors
/// When it names none.
pub fn of_session() -> Result<PathBuf, NoSession> {
    let name = std::env::var_os("WAYLAND_DISPLAY").map(PathBuf::from);
    match (name, runtime_folder()) {
        (Some(name), _) if name.is_absolute() => Ok(name),
        (Some(name), Some(folder)) => Ok(folder.join(name)),
        (Some(_), None) => Err(NoSession::NoFolder),
        (None, _) => Err(NoSession::NoDisplay),
    }
}

/// The folder that XDG_RUNTIME_DIR names.
pub(crate) fn runtime_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.filter(|folder| folder.is_absolute())
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

/// The process at the other end. `None`: it is not known, as where it is in another PID namespace.
#[must_use]
pub fn peer(socket: BorrowedFd<'_>) -> Option<Pid> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = libc::socklen_t::try_from(size_of_val(&peer)).ok()?;
    // Not by rustix: its type can't hold the 0 that the kernel gives for a process of another PID namespace.
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `peer`, and both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    Pid::from_raw(peer.pid).filter(|_| result == 0 && peer.pid > 0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::process::Command;

    use rustix::net::{bind, listen};

    use super::*;

    /// Asks for the process at the other end of standard input.
    #[test]
    #[ignore = "it is started by the test below"]
    fn peer_of_standard_input() {
        let peer = peer(std::io::stdin().as_fd());
        println!("peer: {:?}", peer.map(|it| it.as_raw_nonzero().get()));
    }

    #[test]
    fn a_process_of_another_pid_namespace_is_not_known() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert_eq!(peer(ours.as_fd()), Some(rustix::process::getpid()));
        let (_, module) = module_path!().split_once("::").unwrap();
        let seen = |program: &str, args: &[&str]| {
            let name = format!("{module}::peer_of_standard_input");
            let ran = Command::new(program)
                .args(args)
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", &name, "--ignored", "--nocapture"])
                .stdin(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap()))
                .output()
                .unwrap();
            String::from_utf8_lossy(&ran.stdout).into_owned()
        };
        let known = format!("peer: Some({})", std::process::id());
        let printed = seen("env", &[]);
        assert!(printed.contains(&known), "{printed}");
        let may = ["--user", "--map-root-user", "--pid", "--fork"];
        let is_possible = Command::new("unshare").args(may).arg("true").status();
        if is_possible.is_ok_and(|status| status.success()) {
            let printed = seen("unshare", &may);
            assert!(printed.contains("peer: None"), "{printed}");
        }
    }

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
