//! Where an output file lies in truth.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::regular;

/// Where a file is to be written.
pub(crate) enum Place {
    /// A device, a pipe, an open file of this process: it is written as it is.
    AsIs(File),
    /// A regular file, or none yet: the path behind all symbolic links, and what is there now.
    Regular(PathBuf, Option<Metadata>),
}

/// More symbolic links than this are a loop, as for the system.
const MOST_LINKS: usize = 40;

impl Place {
    /// Looks behind symbolic links.
    ///
    /// # Errors
    /// When the place can't be read, or must not be written to.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        let path = behind_links(path)?;
        match std::fs::metadata(&path) {
            Ok(there) if there.is_file() && !is_handed_out(&path) => {
                // Replacing asks the folder alone; a file that is protected from writing must not be replaced either.
                OpenOptions::new().write(true).open(&path)?;
                Ok(Self::Regular(path, Some(there)))
            }
            // At its end: a shell's `>>` leads here too.
            Ok(_) => Ok(Self::AsIs(OpenOptions::new().append(true).open(&path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Regular(path, None)),
            Err(error) => Err(error),
        }
    }
}

/// Where a file is to be written whose name was derived from another name. Whoever can write to the folder may have laid
/// anything there: a link is not followed, and only a regular file is replaced.
pub(crate) fn derived(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let there = match std::fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((path.to_owned(), None));
        }
        Err(error) => return Err(error),
    };
    let named = |error: io::Error| {
        let what = format!(
            "{error}, which is written only where its name is given: give the name of a file"
        );
        io::Error::new(error.kind(), what)
    };
    regular::refuse_others(&there).map_err(named)?;
    // Replacing asks the folder alone; a file that is protected from writing must not be replaced either.
    regular::open_to_write(path, false)?;
    Ok((path.to_owned(), Some(there)))
}

/// Follows symbolic links at the end of a path, also one that leads nowhere yet. Those that the system makes up for open
/// files are left: what they lead to has no path.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if is_handed_out(&path) {
            return Ok(path);
        }
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_symlink());
        if !is_link {
            return Ok(path);
        }
        let to = std::fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Whether a path names what this process has open, such as `/dev/stdout` and `/dev/fd/63`.
fn is_handed_out(path: &Path) -> bool {
    cfg!(unix) && (path.starts_with("/proc") || path.starts_with("/dev/fd"))
}

/// Whether two paths lead to one file, by whatever names. A missing file equals none.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    match (std::fs::metadata(one), std::fs::metadata(other)) {
        (Ok(first), Ok(second)) => is_one(&first, &second, one, other),
        _ => false,
    }
}

#[cfg(unix)]
fn is_one(first: &Metadata, second: &Metadata, _: &Path, _: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (first.dev(), first.ino()) == (second.dev(), second.ino())
}

#[cfg(not(unix))]
fn is_one(_: &Metadata, _: &Metadata, one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
