//! Stamps of the pipeline file, of the scripts of its commands, and of the libraries in the plugins' folders.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flowpipe_host::library::stamp::Stamp;

/// A stamp for each file; `None`: the file is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamps(BTreeMap<PathBuf, Option<Stamp>>);

impl FileStamps {
    /// Reads the stamps.
    pub fn read(pipeline: &Path, folders: &[PathBuf]) -> Self {
        let stamp = |path: PathBuf| {
            let stamp = Stamp::of(&path).ok();
            (path, stamp)
        };
        // `--plugin-dir` may be a file.
        let single = folders.iter().filter(|it| it.is_file()).cloned();
        let entries = folders.iter().filter_map(|it| std::fs::read_dir(it).ok());
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let libraries = paths.filter(|path| {
            path.extension().and_then(OsStr::to_str) == Some(std::env::consts::DLL_EXTENSION)
        });
        let mut files: BTreeMap<_, _> = libraries.chain(single).map(stamp).collect();
        files.extend([stamp(pipeline.to_owned())]);
        Self(files)
    }

    /// The same with these scripts. Stamps that are known stay.
    #[must_use]
    pub fn with_scripts(mut self, scripts: &[PathBuf]) -> Self {
        for script in scripts {
            let stamp = self.0.entry(script.clone());
            stamp.or_insert_with(|| Stamp::of(script).ok());
        }
        self
    }

    /// Whether a file that existed is missing: editors and linkers may be about to replace it.
    pub fn lacks_some_of(&self, before: &Self) -> bool {
        let is_there = |files: &Self, path| matches!(files.0.get(path), Some(Some(_)));
        before
            .0
            .keys()
            .any(|path| is_there(before, path) && !is_there(self, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_removed_and_changed_files_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = folder.path().join("a.toml");
        let library = folder
            .path()
            .join(format!("a.{}", std::env::consts::DLL_EXTENSION));
        let read = || FileStamps::read(&pipeline, &[folder.path().to_owned()]);
        std::fs::write(&pipeline, "1").unwrap();
        let first = read();
        assert_eq!(read(), first);
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        assert_eq!(read(), first, "no library");
        std::fs::write(&library, "").unwrap();
        let second = read();
        assert!(second != first && !second.lacks_some_of(&first));
        std::fs::remove_file(&pipeline).unwrap();
        assert!(read() != second && read().lacks_some_of(&second));
        let single = || FileStamps::read(&pipeline, std::slice::from_ref(&library));
        let before = single();
        std::fs::write(&library, "longer").unwrap();
        assert!(single() != before);
    }
}
