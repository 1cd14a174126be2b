//! Which files a path, a folder or a pattern names.

use std::path::{Path, PathBuf};

use flowpipe_plugin::{Error, Result};

/// Endings of the pictures that are taken from a folder, lower case.
const ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The files of one entry of `paths`, in natural order; at least one.
///
/// # Errors
/// Names the entry: there is no such file, nothing matches, or it can't be looked into.
pub fn files(entry: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(entry);
    // A file that is there is meant, even when its name would do as a pattern.
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = if path.is_dir() {
        in_folder(path).map_err(|error| error.context(format!("can't read the folder {entry}")))?
    } else if entry.contains(['*', '?', '[']) {
        matching(entry)?
    } else {
        return Err(Error::bad_config(format!(
            "there is no file or folder {entry} (in {})",
            working_directory()
        )));
    };
    if files.is_empty() {
        return Err(Error::bad_config(if path.is_dir() {
            format!("no PNG or JPEG in folder {entry}")
        } else {
            format!("no file matches {entry} (in {})", working_directory())
        }));
    }
    files.sort_by(|a, b| natord::compare(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(files)
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        if ENDINGS.iter().any(|known| ending == *known) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let wrong =
        |error: &dyn std::fmt::Display| Error::bad_config(format!("pattern {pattern}: {error}"));
    let mut files = Vec::new();
    for path in glob::glob(pattern).map_err(|error| wrong(&error))? {
        let path = path.map_err(|error| wrong(&error))?;
        if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

fn working_directory() -> String {
    std::env::current_dir().map_or_else(
        |_| "the working directory".to_owned(),
        |path| path.display().to_string(),
    )
}
