//! Reading puzzles from a file or from standard input.

use std::io::Read as _;

use flowpipe_puzzle::text::{self, Entry};

use crate::exit::Failure;
use crate::outputs;

/// Reads all puzzles of a file, or of standard input where it is called `-`.
///
/// # Errors
/// When it can't be read, is no text, or has no puzzles in it.
pub fn read(file: &str) -> Result<Vec<Entry>, Failure> {
    let entries = text::read(&read_text(file)?);
    if entries.is_empty() {
        return Err(Failure::Usage(format!(
            "{file}: there are no puzzles in it"
        )));
    }
    Ok(entries)
}

fn read_text(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        outputs::note_input(file);
        std::fs::read(file).map(|read| bytes = read)
    };
    read.map_err(|error| Failure::File {
        path: file.to_owned(),
        error,
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Failure::BadText(format!("{file}: line {line}: this is not UTF-8 text"))
    })
}
