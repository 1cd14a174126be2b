//! Writes several pictures, each to a file of its own.

use std::path::{Path, PathBuf, is_separator};

use crate::exit::Failure;
use crate::outputs;

/// Writes the picture at an index, from 0, of `count` pictures. A single picture goes to the file itself, several to
/// files with their number, from 1, after the name. In a folder they are called by their number, with this ending
/// (`svg`); the folder is created if its name ends in a separator.
///
/// # Errors
/// When the file can't be written.
pub fn write(
    file: &Path,
    index: usize,
    count: usize,
    ending: &str,
    picture: impl AsRef<[u8]>,
) -> Result<(), Failure> {
    let failure = |path: &Path, error| Failure::File {
        path: path.display().to_string(),
        error,
    };
    let named_as_folder = file.to_string_lossy().ends_with(is_separator);
    if named_as_folder || file.is_dir() {
        std::fs::create_dir_all(file).map_err(|error| failure(file, error))?;
        let path = file.join(format!("{}.{ending}", index + 1));
        return outputs::write_derived(&path, picture);
    }
    let path = place(file, index, count);
    match path == file {
        true => outputs::write(file, picture),
        false => outputs::write_derived(&path, picture),
    }
}

fn place(file: &Path, index: usize, count: usize) -> PathBuf {
    if count == 1 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{}", index + 1);
    if let Some(extension) = file.extension() {
        name += &format!(".{}", extension.to_string_lossy());
    }
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_pictures_are_numbered_from_one() {
        let place = |file: &str, count| place(Path::new(file), 1, count).display().to_string();
        assert_eq!(place("a/b.svg", 1), "a/b.svg");
        assert_eq!(place("a/b.svg", 3), "a/b-2.svg");
        assert_eq!(place("b", 3), "b-2");
    }
}
