//! Whether PipeWire runs, and what to do where it does not.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// Why nothing comes any more.
pub(crate) const LOST: &str = "PipeWire has ended, through which the pictures come: check that it runs \
     (`systemctl --user start pipewire wireplumber`), and start the run again";

/// The library's word for a connection that was lost.
const CONNECTION_ERROR: &str = "connection error";

/// Why nothing comes, where PipeWire does not run.
pub(crate) fn absent(error: &str) -> String {
    format!(
        "PipeWire does not answer ({error}), through which the pictures come: start it (`systemctl --user start pipewire \
         wireplumber`)"
    )
}

/// Why a stream has ended, by what the library says of it.
pub(super) fn end(said: Option<&str>) -> Cow<'static, str> {
    match said {
        Some(error) if error.contains(CONNECTION_ERROR) => LOST.into(),
        Some(error) => format!("PipeWire: {error}").into(),
        None => "PipeWire has ended the stream".into(),
    }
}

/// Whether PipeWire answers in the session that this program runs in. What can't be found out counts as an answer.
#[must_use]
pub fn answers_in_session() -> bool {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let name = variable("PIPEWIRE_REMOTE").unwrap_or_else(|| "pipewire-0".into());
    // A list of names, or a connection of another kind.
    if name.to_string_lossy().contains(['[', ',', ' ']) || name == "internal" {
        return true;
    }
    let name = PathBuf::from(name);
    let folders = ["PIPEWIRE_RUNTIME_DIR", "XDG_RUNTIME_DIR"];
    match folders.into_iter().find_map(variable) {
        _ if name.is_absolute() => answers_at(&name),
        Some(folder) => answers_at(&Path::new(&folder).join(name)),
        None => false,
    }
}

/// Whether it answers at the path of a socket. A socket stays behind when PipeWire is killed.
pub(super) fn answers_at(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let Ok(address) = SocketAddrUnix::new(path) else {
        return false;
    };
    let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None) else {
        return true;
    };
    // One that stands still has as many connections waiting as it takes.
    matches!(connect(&socket, &address), Ok(()) | Err(Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_that_nobody_listens_at_does_not_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipewire-0");
        assert!(!answers_at(&path));
        let listener = UnixListener::bind(&path).unwrap();
        assert!(answers_at(&path));
        drop(listener);
        assert!(path.exists() && !answers_at(&path));
    }

    #[test]
    fn a_lost_connection_is_no_other_end() {
        assert_eq!(end(Some("connection error")), LOST);
        assert_eq!(end(Some("no target node")), "PipeWire: no target node");
        assert_eq!(end(None), "PipeWire has ended the stream");
    }
}
