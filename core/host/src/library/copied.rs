//! A copy of a library under another name, so that the system loads it beside the version that it has by the first
//! name.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::library::write_access;

/// The copy. Its file is removed on drop; the loaded library stays.
pub(crate) struct Copied {
    /// The name by which the system loads it.
    pub path: PathBuf,
    is_file: bool,
}

impl Copied {
    /// Writes the copy beside the library, so that relative paths in it still resolve. If that fails, or other users
    /// can write there, the copy is in memory on Linux, and in the system's temporary folder elsewhere.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not a library's extension: a scan ignores it.
        let name = format!(".flowpipe-{}-{number}.loading", std::process::id());
        let beside = match path.parent() {
            Some(folder) => Self::written(folder.join(&name), bytes),
            None => Err("it is in no folder".to_owned()),
        };
        beside
            .or_else(|_| Self::apart(&name, bytes))
            .map_err(|why| format!("can't be copied for a reload: {why}"))
    }

    /// Writes a file that no other user can replace before it is loaded.
    fn written(path: PathBuf, bytes: &[u8]) -> Result<Self, String> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        let failed = |error: io::Error| error.to_string();
        let mut file = options.open(&path).map_err(failed)?;
        let copied = Self {
            path,
            is_file: true,
        };
        write_access::check(&copied.path).map_err(|error| error.to_string())?;
        file.write_all(bytes).map_err(failed)?;
        Ok(copied)
    }

    #[cfg(not(target_os = "linux"))]
    fn apart(name: &str, bytes: &[u8]) -> Result<Self, String> {
        Self::written(std::env::temp_dir().join(name), bytes)
    }

    /// A copy in memory that nobody can change. Its descriptor is never closed: the system knows the library by this
    /// name, and would return it for the next one.
    #[cfg(target_os = "linux")]
    fn apart(_: &str, bytes: &[u8]) -> Result<Self, String> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        use std::os::fd::IntoRawFd as _;
        let written = || {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let mut file = std::fs::File::from(memfd_create("flowpipe-library", flags)?);
            file.write_all(bytes)?;
            let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            fcntl_add_seals(&file, seals)?;
            Ok(file.into_raw_fd())
        };
        let number = written().map_err(|error: io::Error| error.to_string())?;
        Ok(Self {
            path: format!("/proc/self/fd/{number}").into(),
            is_file: false,
        })
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if self.is_file {
            // A loaded library needs no name, except on Windows, where the file stays until the program ends.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_copy_is_where_nobody_else_can_write() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("a.so");
        let beside = Copied::new(&library, b"bytes").unwrap();
        assert_eq!(beside.path.parent(), Some(folder.path()));
        assert_eq!(std::fs::read(&beside.path).unwrap(), b"bytes");
        drop(beside);
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        for library in [library.as_path(), Path::new("/nowhere/a.so")] {
            let apart = Copied::new(library, b"bytes").unwrap();
            assert!(apart.path.starts_with("/proc/self/fd"), "{:?}", apart.path);
            assert_eq!(std::fs::read(&apart.path).unwrap(), b"bytes");
            let mut file = OpenOptions::new().write(true).open(&apart.path).unwrap();
            assert!(file.write_all(b"other").is_err());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
