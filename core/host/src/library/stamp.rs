//! The metadata of a file: when it changes, the file was written or replaced.

use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and inode where the system has them: they differ when another file has the name.
    identity: (u64, u64),
}

impl Stamp {
    /// The stamp of a file now. Follows links.
    ///
    /// # Errors
    /// When there is no such file, or its metadata can't be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&std::fs::metadata(path)?))
    }

    pub(crate) fn of_metadata(metadata: &std::fs::Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_name_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        assert!(Stamp::of(&one).is_err());
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        let before = Stamp::of(&one).unwrap();
        assert_eq!(Stamp::of(&one).unwrap(), before);
        std::fs::rename(&other, &one).unwrap();
        assert_ne!(Stamp::of(&one).unwrap(), before);
    }
}
