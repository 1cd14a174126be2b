//! Who can write to a library: code that other users can change or replace is not loaded. As OpenSSH's `StrictModes`
//! does for keys, every folder of the path is checked, also behind links.

use std::path::{Path, PathBuf};

/// Users other than the owner and root can change what is at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteAccess {
    /// By its mode.
    #[error("other users can write to {} (mode {mode:o}): `chmod go-w` it, or put it elsewhere", path.display())]
    Mode {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// By an access control list.
    #[error("{} can be written to by its group, and has an access control list: `chmod g-w` it, or put it elsewhere", path.display())]
    List {
        /// The file or folder.
        path: PathBuf,
    },
    /// By their ownership.
    #[error("{} belongs to another user (number {owner}): `chown` it, or put it elsewhere", path.display())]
    Owner {
        /// The file, folder or link.
        path: PathBuf,
        /// The number of the user.
        owner: u32,
    },
    /// The system does not report it.
    #[error("can't be checked: {0}")]
    Unknown(String),
}

/// Checks that only the user and root can change what is at this path, or which file or folder that is.
///
/// Systems without Unix permissions pass.
///
/// # Errors
/// When others can, with what to do about it.
#[cfg(not(unix))]
pub fn check(_: &Path) -> Result<(), WriteAccess> {
    Ok(())
}

#[cfg(unix)]
pub use unix::check;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs::Metadata;
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Component;

    use super::{Path, PathBuf, WriteAccess};
    use crate::library::accounts::Accounts;

    /// Links on one path; the system itself follows no more.
    const MOST_LINKS: u32 = 40;
    const STICKY: u32 = 0o1000;
    const GROUP_WRITES: u32 = 0o020;
    const ANYBODY_WRITES: u32 = 0o002;

    /// Follows a path as the system does.
    ///
    /// # Errors
    /// Which file or folder on it other users can write to.
    pub fn check(path: &Path) -> Result<(), WriteAccess> {
        let path = std::path::absolute(path).map_err(unknown)?;
        let user = rustix::process::geteuid().as_raw();
        let mut links = 0;
        let mut place = PathBuf::from("/");
        // The next one last.
        let mut rest = reversed(&path);
        let root = std::fs::symlink_metadata(&place).map_err(unknown)?;
        check_entry(&place, &root, user, rest.is_empty())?;
        while let Some(name) = rest.pop() {
            if name == ".." {
                place.pop();
                continue;
            }
            let next = place.join(name);
            let metadata = std::fs::symlink_metadata(&next).map_err(unknown)?;
            if !metadata.is_symlink() {
                check_entry(&next, &metadata, user, rest.is_empty())?;
                place = next;
                continue;
            }
            // A link's owner decides where it leads; its mode has no meaning.
            check_owner(&next, &metadata, user)?;
            links += 1;
            if links > MOST_LINKS {
                return Err(WriteAccess::Unknown("too many links".to_owned()));
            }
            let target = std::fs::read_link(&next).map_err(unknown)?;
            if target.has_root() {
                place = PathBuf::from("/");
            }
            rest.extend(reversed(&target));
        }
        Ok(())
    }

    fn reversed(path: &Path) -> Vec<OsString> {
        let names = path.components().rev().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        names.collect()
    }

    /// Whether others can change this entry, or what is in it.
    fn check_entry(
        path: &Path,
        metadata: &Metadata,
        user: u32,
        is_last: bool,
    ) -> Result<(), WriteAccess> {
        check_owner(path, metadata, user)?;
        let mode = metadata.mode();
        let is_writable = match mode & (GROUP_WRITES | ANYBODY_WRITES) {
            0 => false,
            GROUP_WRITES if Accounts::get().is_alone_in(user, metadata.gid()) => {
                if has_list(path) {
                    let path = path.to_owned();
                    return Err(WriteAccess::List { path });
                }
                false
            }
            _ => true,
        };
        // In a sticky folder on the way others can add entries, but can't replace the user's.
        let is_passed = !is_last && metadata.is_dir() && mode & STICKY != 0;
        match is_writable && !is_passed {
            true => Err(WriteAccess::Mode {
                path: path.to_owned(),
                mode: mode & 0o7777,
            }),
            false => Ok(()),
        }
    }

    fn check_owner(path: &Path, metadata: &Metadata, user: u32) -> Result<(), WriteAccess> {
        match metadata.uid() {
            0 => Ok(()),
            owner if owner == user => Ok(()),
            owner => Err(WriteAccess::Owner {
                path: path.to_owned(),
                owner,
            }),
        }
    }

    /// Whether an access control list adds to the mode: the group's bits are then the limit for all its entries.
    #[cfg(target_os = "linux")]
    fn has_list(path: &Path) -> bool {
        let name = "system.posix_acl_access";
        match rustix::fs::getxattr(path, name, &mut [0_u8; 0]) {
            Ok(length) => length > 0,
            // Neither present nor supported.
            Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => false,
            Err(_) => true,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn has_list(_: &Path) -> bool {
        false
    }

    fn unknown(error: io::Error) -> WriteAccess {
        WriteAccess::Unknown(error.to_string())
    }
}
