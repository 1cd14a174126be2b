//! What a sink's path leads to.

use std::path::Path;

use flowpipe_plugin::{Error, Result};

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file, or nothing yet.
    File,
    /// A named pipe.
    Pipe,
    /// A device, such as `/dev/null`.
    Device,
}

impl TargetKind {
    /// What a path leads to.
    ///
    /// # Errors
    /// When a sink can't write to it: it is a folder, a socket or a disk.
    pub fn of(path: &Path) -> Result<Self> {
        // If this fails, creating the file reports why.
        let Ok(metadata) = std::fs::metadata(path) else {
            return Ok(Self::File);
        };
        let kind = metadata.file_type();
        if kind.is_file() {
            return Ok(Self::File);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if kind.is_fifo() {
                return Ok(Self::Pipe);
            }
            if kind.is_char_device() {
                return Ok(Self::Device);
            }
        }
        Err(Error::bad_config(format!(
            "can't write {}: it is no file, pipe or device that takes lines",
            path.display()
        )))
    }
}
