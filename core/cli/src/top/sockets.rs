//! Where runs are found: a folder of the user's, in it a socket for each run, named by its process.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// Nobody else may look in.
const MODE: u32 = 0o700;

/// A run that somebody can look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The process.
    pub pid: u32,
    /// Its socket.
    pub path: PathBuf,
}

/// The user's folder. It is made where it is missing.
///
/// # Errors
/// When it can't be made, or is not this user's alone.
pub fn open() -> io::Result<PathBuf> {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(runtime) if runtime.is_absolute() && runtime.is_dir() => runtime.join("flowpipe"),
        _ => std::env::temp_dir().join(format!("flowpipe-{}", getuid().as_raw())),
    };
    match DirBuilder::new().mode(MODE).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    check(&folder)?;
    Ok(folder)
}

/// In a folder that all may write to, somebody else may have been there first.
fn check(folder: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    let is_ours = about.is_dir() && about.uid() == getuid().as_raw() && about.mode() & 0o077 == 0;
    if is_ours {
        return Ok(());
    }
    let why = format!("{} is not this user's alone", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Where the run of a process is found.
pub fn place(folder: &Path, pid: u32) -> Place {
    Place {
        pid,
        path: folder.join(format!("{pid}.sock")),
    }
}

/// Listens at a place. Nobody else may connect.
///
/// # Errors
/// When the socket can't be made.
pub fn listen(place: &Place) -> io::Result<UnixListener> {
    // It gets its name when it listens: one of that name at which nobody listens was left by a killed run.
    let half = place.path.with_extension("new");
    // Of a process that had this number before, and was killed here.
    let _ = fs::remove_file(&half);
    let listener = UnixListener::bind(&half)?;
    fs::set_permissions(&half, Permissions::from_mode(0o600))?;
    fs::rename(&half, &place.path)?;
    Ok(listener)
}

/// The runs that can be looked at, with a connection to each. What killed ones have left is cleaned up.
///
/// # Errors
/// When the folder can't be read.
pub fn runs(folder: &Path) -> io::Result<Vec<(Place, UnixStream)>> {
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
            Ok(stream) => found.push((Place { pid, path }, stream)),
            // Nobody listens, and who listens does so before it has this name.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Somebody else may have been quicker.
                let _ = fs::remove_file(&path);
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode));
        mode(0o700).unwrap();
        check(folder.path()).unwrap();
        mode(0o750).unwrap();
        assert!(check(folder.path()).is_err());
        mode(0o700).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(check(&link).is_err(), "a link may lead elsewhere later");
    }

    #[test]
    fn what_killed_runs_have_left_is_cleaned_up() {
        let folder = tempfile::tempdir().unwrap();
        let (dead, alive) = (place(folder.path(), 11), place(folder.path(), 12));
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
        // The same number again.
        let _listens = listen(&dead).unwrap();
        assert_eq!(runs(folder.path()).unwrap().len(), 2);
    }
}
