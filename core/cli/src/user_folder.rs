//! The user's folder for what runs share: their sockets, and the lock of the mouse.

use std::io;
use std::path::PathBuf;

/// The folder. Creates it if it is missing.
///
/// # Errors
/// When it can't be created, or another user has access.
#[cfg(unix)]
pub fn open() -> io::Result<PathBuf> {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt as _;

    let folder = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(runtime) if runtime.is_absolute() && runtime.is_dir() => runtime.join("flowpipe"),
        _ => {
            let user = rustix::process::getuid().as_raw();
            std::env::temp_dir().join(format!("flowpipe-{user}"))
        }
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    check(&folder)?;
    Ok(folder)
}

/// The folder. Creates it if it is missing. The folder for temporary files is the user's own here.
///
/// # Errors
/// When it can't be created.
#[cfg(not(unix))]
pub fn open() -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join("flowpipe");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// In a folder that everyone may write to, another user may have created it first.
#[cfg(unix)]
fn check(folder: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    let about = std::fs::symlink_metadata(folder)?;
    let user = rustix::process::getuid().as_raw();
    let is_ours = about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0;
    if is_ours {
        return Ok(());
    }
    let why = format!("{} is accessible to other users", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_that_others_can_access_is_refused() {
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
}
