//! Folders for files that the program names by itself and replaces, such as numbered pictures.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Marks such a folder.
const MARKER: &str = ".flowpipe-files";
const TEXT: &str = "flowpipe writes files into this folder, and replaces them.\n";

/// Creates a folder for files that the program names by itself. A folder that exists must be empty, or one that this
/// function has created or accepted before: no file of somebody else is replaced.
///
/// # Errors
/// When it can't be created, or contains other files.
pub fn own_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let marker = folder.join(MARKER);
    if fs::symlink_metadata(&marker).is_ok_and(|it| it.is_file()) {
        return Ok(());
    }
    if fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::other(
            "it contains files that flowpipe has not written: give the name of a new or empty folder",
        ));
    }
    // A link of this name is not followed.
    let file = OpenOptions::new().write(true).create_new(true).open(marker);
    match file {
        Ok(mut file) => file.write_all(TEXT.as_bytes()),
        // Another stage has just marked it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_or_empty_folder_can_be_used_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        own_folder(&inner).unwrap();
        fs::write(inner.join("01-lines.png"), "x").unwrap();
        own_folder(&inner).unwrap();
        let empty = tempfile::tempdir().unwrap();
        own_folder(empty.path()).unwrap();
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("01-lines.png"), "mine").unwrap();
        let refused = own_folder(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("empty folder"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
