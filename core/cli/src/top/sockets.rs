//! The sockets of runs: in the user's folder ([`crate::user_folder`]), a socket for each run, named after its process.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The socket of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSocket {
    /// The process.
    pub pid: u32,
    /// The path of the socket.
    pub path: PathBuf,
}

/// The socket of a process.
pub fn socket(folder: &Path, pid: u32) -> RunSocket {
    RunSocket {
        pid,
        path: folder.join(format!("{pid}.sock")),
    }
}

/// Listens at a socket. Only the user may connect.
///
/// # Errors
/// When the socket can't be created.
pub fn listen(socket: &RunSocket) -> io::Result<UnixListener> {
    // It is renamed once it listens: a socket of that name without a listener belongs to a killed run.
    let half = socket.path.with_extension("new");
    // Left by a killed process with the same number.
    let _ = fs::remove_file(&half);
    let listener = UnixListener::bind(&half)?;
    fs::set_permissions(&half, Permissions::from_mode(0o600))?;
    fs::rename(&half, &socket.path)?;
    Ok(listener)
}

/// The runs, with a connection to each. Removes the sockets of killed runs.
///
/// # Errors
/// When the folder can't be read.
pub fn runs(folder: &Path) -> io::Result<Vec<(RunSocket, UnixStream)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name
            .and_then(|name| name.strip_suffix(".sock"))
            .and_then(|pid| pid.parse().ok());
        let Some(pid) = pid else {
            continue;
        };
        match UnixStream::connect(&path) {
            Ok(stream) => found.push((RunSocket { pid, path }, stream)),
            // No listener: a run listens before its socket has this name.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Another process may have removed it already.
                let _ = fs::remove_file(&path);
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn sockets_of_killed_runs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (dead, alive) = (socket(folder.path(), 11), socket(folder.path(), 12));
        drop(listen(&dead).unwrap());
        assert!(dead.path.exists());
        fs::write(folder.path().join("notes.txt"), "not ours").unwrap();
        let _listens = listen(&alive).unwrap();
        let mode = fs::metadata(&alive.path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        let found = runs(folder.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, alive);
        assert!(!dead.path.exists() && folder.path().join("notes.txt").exists());
        // A new process with the same number.
        let _listens = listen(&dead).unwrap();
        assert_eq!(runs(folder.path()).unwrap().len(), 2);
    }
}
