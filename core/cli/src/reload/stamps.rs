//! What the files look like: the pipeline's, and the libraries in the plugins' folders.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flowpipe_host::library::stamp::Stamp;

/// What they look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files(BTreeMap<PathBuf, Option<Stamp>>);

impl Files {
    /// Looks at them.
    pub fn look(pipeline: &Path, folders: &[PathBuf]) -> Self {
        let stamp = |path: PathBuf| {
            let stamp = Stamp::of(&path).ok();
            (path, stamp)
        };
        let entries = folders.iter().filter_map(|it| std::fs::read_dir(it).ok());
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let libraries = paths.filter(|path| {
            path.extension().and_then(OsStr::to_str) == Some(std::env::consts::DLL_EXTENSION)
        });
        let mut files: BTreeMap<_, _> = libraries.map(stamp).collect();
        files.extend([stamp(pipeline.to_owned())]);
        Self(files)
    }

    /// Whether a file that was there is gone: editors and linkers may be about to put another in its place.
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
    fn sees_what_comes_goes_and_changes() {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = folder.path().join("a.toml");
        let library = folder
            .path()
            .join(format!("a.{}", std::env::consts::DLL_EXTENSION));
        let look = || Files::look(&pipeline, &[folder.path().to_owned()]);
        std::fs::write(&pipeline, "1").unwrap();
        let first = look();
        assert_eq!(look(), first);
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        assert_eq!(look(), first, "no library");
        std::fs::write(&library, "").unwrap();
        let second = look();
        assert!(second != first && !second.lacks_some_of(&first));
        std::fs::remove_file(&pipeline).unwrap();
        assert!(look() != second && look().lacks_some_of(&second));
    }
}
