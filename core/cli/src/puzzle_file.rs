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

/// What a file of another kind is, and the command for it.
fn kind(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_picture = bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8\xff");
    match is_picture {
        true => Some(("a picture", "see")),
        false if bytes.starts_with(flowpipe_recording::MAGIC) => Some(("a recording", "report")),
        false => None,
    }
}

fn text(file: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    if let Some(other) = kind(&bytes) {
        let (what, command) = other;
        let named = shell_words::quote(file);
        return Err(Failure::BadText(format!(
            "{file}: this is {what}, and no text: `flowpipe {command} {named}` shows what is in it"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Failure::BadText(format!("{file}: line {line}: this is not UTF-8 text"))
    })
}
