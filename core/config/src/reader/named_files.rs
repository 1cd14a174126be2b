//! The files that a pipeline file names.

use std::path::PathBuf;

use crate::manifest::effects::PathUse;

/// The files that a pipeline file names. Relative paths start where those of the pipeline file do.
pub trait NamedFiles {
    /// The bytes of a file with a JSON Schema, one more than [`message_schema::MAX_BYTES`](crate::message_schema::MAX_BYTES)
    /// at most.
    ///
    /// # Errors
    /// Why it can't be read, as a sentence for users.
    fn read(&self, file: &str) -> Result<Vec<u8>, String>;

    /// What a stage uses by a path of its config: the regular file, also one that is not there yet, or the folder. Of what
    /// is read also the files in a folder, the matches of a pattern, and the folders of a pattern that begins with `*`.
    /// Devices, pipes and sockets are none of it.
    fn leads_to(&self, path: &str, used: PathUse) -> Vec<FileIdentity>;
}

/// A file or a folder, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileIdentity {
    /// By the numbers of its device and its inode.
    Inode(u64, u64),
    /// By its path without links. It is not there, or the system has no such numbers.
    Path(PathBuf),
    /// A folder all of whose files may be used, by its path without links.
    Folder(PathBuf),
}

/// No files: none can be read.
pub struct NoFiles;

impl NamedFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("files can't be named here".to_owned())
    }

    fn leads_to(&self, _: &str, _: PathUse) -> Vec<FileIdentity> {
        Vec::new()
    }
}
