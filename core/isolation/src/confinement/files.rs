//! Which files a process may read or write.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use flowpipe_config::manifest::effects::state_folder;
use serde::{Deserialize, Serialize};

/// Files and folders; a folder includes all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Files {
    /// All that the user may use.
    All,
    /// These.
    These(Vec<PathBuf>),
}

impl Default for Files {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl Files {
    /// The files that a config names. Without any name the files are unknown: all are allowed. A pattern allows the
    /// folder before its first wildcard.
    pub(super) fn from_paths(paths: Vec<PathBuf>) -> Self {
        match paths.is_empty() {
            true => Self::All,
            false => Self::These(paths.into_iter().map(without_pattern).collect()),
        }
    }

    pub(super) fn add(&mut self, others: Self) {
        match (&mut *self, others) {
            (Self::All, _) => {}
            (Self::These(all), Self::These(others)) => all.extend(others),
            (Self::These(_), Self::All) => *self = Self::All,
        }
    }

    /// Creates what is not there yet: only what exists can be allowed. A name with an extension is a file's, whose folder
    /// must exist; any other a folder's. `dry`: creates folders alone. The user's state is kept in dry runs too.
    pub(super) fn prepare(&self, dry: bool) {
        let Self::These(paths) = self else { return };
        let state = state_folder();
        for path in paths.iter().filter(|path| !path.exists()) {
            let is_state = path.parent().is_some_and(|it| Some(it) == state.as_deref());
            // If this fails, the plugin can't create it either, and reports that.
            if is_state && let Some(folder) = &state {
                let _ = fs::create_dir_all(folder);
            }
            let _ = match path.extension() {
                Some(_) if dry && !is_state => Ok(()),
                Some(_) => {
                    let file = OpenOptions::new().write(true).create_new(true).open(path);
                    file.map(drop)
                }
                None => fs::create_dir_all(path),
            };
        }
    }

    /// What may be done with them, as a phrase. `None`: nothing.
    pub(super) fn in_words(&self, verb: &str) -> Option<String> {
        match self {
            Self::All => Some(format!("{verb} files")),
            Self::These(paths) if paths.is_empty() => None,
            Self::These(paths) => {
                let paths: Vec<_> = paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                Some(format!("{verb} {}", paths.join(" and ")))
            }
        }
    }
}

/// The folder before the first part with a wildcard.
fn without_pattern(path: PathBuf) -> PathBuf {
    let is_pattern = |part: &std::ffi::OsStr| part.to_string_lossy().contains(['*', '?', '[']);
    if path.exists() || !path.iter().any(is_pattern) {
        return path;
    }
    let folder: PathBuf = path.iter().take_while(|part| !is_pattern(part)).collect();
    match folder.as_os_str().is_empty() {
        true => Path::new(".").to_owned(),
        false => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_allows_its_folder() {
        for (path, folder) in [
            ("frames/*.png", "frames"),
            ("*.png", "."),
            ("/nowhere/a?/b", "/nowhere"),
            ("plain/a.png", "plain/a.png"),
        ] {
            assert_eq!(without_pattern(path.into()), PathBuf::from(folder));
        }
    }

    #[test]
    fn missing_files_and_folders_are_created() {
        let folder = tempfile::tempdir().unwrap();
        let [pictures, log, mistyped] =
            ["a/pictures", "log.csv", "b/log.csv"].map(|it| folder.path().join(it));
        let files = Files::These(vec![pictures.clone(), log.clone(), mistyped]);
        files.prepare(true);
        assert!(pictures.is_dir() && !log.exists());
        files.prepare(false);
        assert!(pictures.is_dir() && log.is_file());
        assert!(!folder.path().join("b").exists());
        fs::write(&log, "kept").unwrap();
        files.prepare(false);
        assert_eq!(fs::read(&log).unwrap(), b"kept");
    }

    #[test]
    fn one_unknown_path_allows_all() {
        let mut files = Files::default();
        files.add(Files::from_paths(vec!["a".into()]));
        files.add(Files::from_paths(vec!["b".into()]));
        assert_eq!(files, Files::These(vec!["a".into(), "b".into()]));
        files.add(Files::from_paths(Vec::new()));
        files.add(Files::from_paths(vec!["c".into()]));
        assert_eq!(files, Files::All);
    }
}
