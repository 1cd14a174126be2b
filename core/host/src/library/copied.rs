//! A copy of a library under a name of its own, so that the system loads it beside the one that it has by the first name.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The copy. Its name is given up again, what is loaded stays.
pub(crate) struct Copied(pub PathBuf);

impl Copied {
    /// Writes the copy beside the library, so that what that finds by its own place is found, or where that can't be, to where
    /// the system keeps temporary files.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not the ending of a library: nobody takes it for one.
        let name = format!(".flowpipe-{}-{number}.loading", std::process::id());
        let beside = path.parent().map(|folder| folder.join(&name));
        let apart = std::env::temp_dir().join(&name);
        let mut why = String::new();
        for place in beside.into_iter().chain([apart]) {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
            let written = options.open(&place).and_then(|mut file| {
                let copied = Self(place);
                file.write_all(bytes).map(|()| copied)
            });
            match written {
                Ok(copied) => return Ok(copied),
                Err(error) => why = error.to_string(),
            }
        }
        Err(format!("can't be copied, to be loaded anew: {why}"))
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // What is loaded needs no name, but on Windows, where the file stays until the program ends.
        let _ = std::fs::remove_file(&self.0);
    }
}
