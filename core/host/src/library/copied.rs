//! A copy of a library under another name, so that the system loads it beside the version that it has by the first
//! name.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The copy. Its file is removed on drop; the loaded library stays.
pub(crate) struct Copied(pub PathBuf);

impl Copied {
    /// Writes the copy beside the library, so that relative paths in it still resolve, or, if that fails, to the
    /// system's temporary folder.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not a library's extension: a scan ignores it.
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
        Err(format!("can't be copied for a reload: {why}"))
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // A loaded library needs no name, except on Windows, where the file stays until the program ends.
        let _ = std::fs::remove_file(&self.0);
    }
}
