//! The file that a library was loaded from, as it was then: so that another process loads that very file, whatever lies at its
//! place by now.

use std::fs::File;
use std::io::{self, Read as _};
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use crate::plugin::stamp::Stamp;

/// A file, held open.
#[derive(Debug)]
pub(crate) struct Origin {
    pub stamp: Stamp,
    #[cfg(unix)]
    file: File,
}

/// Where the file is now.
#[cfg(unix)]
pub(crate) enum Whereabouts<'a> {
    /// Where it was.
    InPlace,
    /// At its place is another one, or none. This is it.
    Replaced(BorrowedFd<'a>),
    /// It is not what it was any more.
    Overwritten,
}

impl Origin {
    /// Opens the file and reads it.
    ///
    /// # Errors
    /// When the system can't.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Vec<u8>)> {
        let mut file = File::open(path)?;
        let stamp = Stamp::of_metadata(&file.metadata()?);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let origin = Self {
            stamp,
            #[cfg(unix)]
            file,
        };
        Ok((origin, bytes))
    }

    /// Where the file is now that was opened under this name.
    #[cfg(unix)]
    pub(crate) fn whereabouts(&self, path: &Path) -> Whereabouts<'_> {
        if Stamp::of(path).is_ok_and(|now| now == self.stamp) {
            return Whereabouts::InPlace;
        }
        let now = self.file.metadata();
        match now.is_ok_and(|now| Stamp::of_metadata(&now) == self.stamp) {
            true => Whereabouts::Replaced(self.file.as_fd()),
            false => Whereabouts::Overwritten,
        }
    }
}

/// All of a file that another process opened.
///
/// # Errors
/// When the system can't read it.
#[cfg(unix)]
pub(crate) fn read(file: OwnedFd) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;
    let file = File::from(file);
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    // The place from where to read on is shared by all who have it open.
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::write(&one, "first").unwrap();
        std::fs::write(&other, "second").unwrap();
        let (origin, bytes) = Origin::open(&one).unwrap();
        assert_eq!(bytes, b"first");
        assert!(matches!(origin.whereabouts(&one), Whereabouts::InPlace));
        std::fs::rename(&other, &one).unwrap();
        for _ in 0..2 {
            let Whereabouts::Replaced(file) = origin.whereabouts(&one) else {
                panic!("not found");
            };
            assert_eq!(read(file.try_clone_to_owned().unwrap()).unwrap(), b"first");
        }
        std::fs::remove_file(&one).unwrap();
        assert!(matches!(origin.whereabouts(&one), Whereabouts::Replaced(_)));
    }

    #[test]
    fn a_file_that_was_written_into_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        std::fs::write(&path, "first").unwrap();
        let (origin, _) = Origin::open(&path).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        file.write_all(b"other").unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(5))
            .unwrap();
        assert!(matches!(
            origin.whereabouts(&path),
            Whereabouts::Overwritten
        ));
    }
}
