//! Reads puzzles from a file or from standard input.

use std::path::Path;

use flowpipe_puzzle::text::{self, Entry};

use crate::exit::Failure;
use crate::{input, outputs};

/// Reads all puzzles of a file, or of standard input for `-`.
///
/// # Errors
/// When it can't be read, is not UTF-8, or contains no puzzles.
pub fn read(file: &str) -> Result<Vec<Entry>, Failure> {
    let entries = text::read(&read_text(file)?);
    if entries.is_empty() {
        return Err(no_puzzles(file));
    }
    Ok(entries)
}

/// The failure for a file without puzzles.
pub fn no_puzzles(file: &str) -> Failure {
    Failure::Usage(format!("{file}: there are no puzzles in it"))
}

/// Reads the text of a file, or of standard input for `-`.
///
/// # Errors
/// When it can't be read, or is not UTF-8.
pub fn read_text(file: &str) -> Result<String, Failure> {
    if file != "-" {
        return read_path(Path::new(file));
    }
    let read = input::read_all(std::io::stdin().lock(), input::PUZZLES);
    let bytes = read.map_err(|error| Failure::File {
        path: file.to_owned(),
        error,
    })?;
    text(file, bytes)
}

/// The text of a file.
///
/// # Errors
/// When it can't be read, or is not UTF-8.
pub fn read_path(file: &Path) -> Result<String, Failure> {
    outputs::note_input(file);
    let bytes = input::read(file, input::PUZZLES)?;
    text(&file.display().to_string(), bytes)
}

fn text(file: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Failure::BadText(format!("{file}: line {line}: this is not UTF-8 text"))
    })
}
