//! The open file that a library was loaded from, so that another process loads the same file, whatever is at its path
//! by now.

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use crate::library::stamp::Stamp;

/// An open file.
#[derive(Debug)]
pub(crate) struct PinnedFile {
    pub stamp: Stamp,
    file: File,
}

/// The state of the file at its path.
#[cfg(unix)]
pub(crate) enum FileState<'a> {
    /// Where it was.
    InPlace,
    /// Another file is at its path, or none. This is the descriptor.
    Replaced(BorrowedFd<'a>),
    /// Its content has changed.
    Overwritten,
}

impl PinnedFile {
    /// Opens the file. Does not block on a pipe.
    ///
    /// # Errors
    /// When the system can't.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
            options.custom_flags(nonblocking.cast_signed());
        }
        let file = options.open(path)?;
        let stamp = Stamp::of_metadata(&file.metadata()?);
        Ok(Self { stamp, file })
    }

    /// The file, to inspect.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// When the system can't read it.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file)
    }

    /// The state of the file that was opened by this path.
    #[cfg(unix)]
    pub(crate) fn state(&self, path: &Path) -> FileState<'_> {
        if Stamp::of(path).is_ok_and(|now| now == self.stamp) {
            return FileState::InPlace;
        }
        let now = self.file.metadata();
        match now.is_ok_and(|now| Stamp::of_metadata(&now) == self.stamp) {
            true => FileState::Replaced(self.file.as_fd()),
            false => FileState::Overwritten,
        }
    }
}

/// Reads a file from its start.
///
/// # Errors
/// When the system can't read it.
#[cfg(unix)]
pub(crate) fn read(file: &File) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    let reader = FromStart { file, place: 0 };
    let read = reader.take(length).read_to_end(&mut bytes)?;
    match read as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads a file from its start with a position of its own: all descriptors of an open file share one.
#[cfg(unix)]
struct FromStart<'a> {
    file: &'a File,
    /// In bytes.
    place: u64,
}

#[cfg(unix)]
impl io::Read for FromStart<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt as _;
        let read = self.file.read_at(to, self.place)?;
        self.place += read as u64;
        Ok(read)
    }
}

#[cfg(not(unix))]
fn read(mut file: &File) -> io::Result<Vec<u8>> {
    use std::io::{Read as _, Seek as _};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_replaced_file_stays_readable() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::write(&one, "first").unwrap();
        std::fs::write(&other, "second").unwrap();
        let pinned = PinnedFile::open(&one).unwrap();
        assert_eq!(pinned.read().unwrap(), b"first");
        assert!(matches!(pinned.state(&one), FileState::InPlace));
        std::fs::rename(&other, &one).unwrap();
        for _ in 0..2 {
            let FileState::Replaced(file) = pinned.state(&one) else {
                panic!("not found");
            };
            let file = File::from(file.try_clone_to_owned().unwrap());
            assert_eq!(read(&file).unwrap(), b"first");
        }
        std::fs::remove_file(&one).unwrap();
        assert!(matches!(pinned.state(&one), FileState::Replaced(_)));
    }

    #[test]
    fn a_file_written_in_place_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        std::fs::write(&path, "first").unwrap();
        let pinned = PinnedFile::open(&path).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        file.write_all(b"other").unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(5))
            .unwrap();
        assert!(matches!(pinned.state(&path), FileState::Overwritten));
    }
}
