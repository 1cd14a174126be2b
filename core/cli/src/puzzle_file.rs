//! Reads whole files of puzzles. `puzzle_input` reads them one by one.

use std::path::Path;

use crate::exit::Failure;
use crate::{input, outputs};

/// The failure for a file without puzzles.
pub fn no_puzzles(file: &str) -> Failure {
    Failure::Usage(format!("{file}: there are no puzzles in it"))
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

/// What a file that begins so is, and the command for it.
fn kind(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_picture = bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.starts_with(b"\xff\xd8\xff");
    match is_picture {
        true => Some(("a picture", "see")),
        false if bytes.starts_with(flowpipe_recording::MAGIC) => Some(("a recording", "report")),
        false => None,
    }
}

fn text(file: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        not_text(file, error.as_bytes(), line)
    })
}

/// The failure for a file with a line that is not UTF-8. `start`: its first bytes, which no file of a known kind has in
/// UTF-8.
pub fn not_text(file: &str, start: &[u8], line: usize) -> Failure {
    if let Some((what, command)) = kind(start) {
        let named = shell_words::quote(file);
        return Failure::BadText(format!(
            "{file}: this is {what}, and no text: `flowpipe {command} {named}` shows what is in it"
        ));
    }
    Failure::BadText(format!("{file}: line {line}: this is not UTF-8 text"))
}
