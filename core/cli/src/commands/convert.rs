//! `flowpipe convert FILE|- --to FORMAT`: writes puzzles in another format.

use std::io::Write as _;

use flowpipe_puzzle::text::{self, Entry, Format};
use flowpipe_terminal::{eprintln, escape_indented, escaped, plain_stdout};

use crate::args::{Convert, PuzzleFormat};
use crate::exit::{Ended, Failure};
use crate::{outputs, puzzle_file};

/// One puzzle that can't be read or not be written spoils no other.
pub fn run(args: &Convert) -> Result<Ended, Failure> {
    let format = match args.to {
        PuzzleFormat::Grid => Format::Grid,
        PuzzleFormat::Level => Format::Level,
        PuzzleFormat::Puzzlink => Format::Puzzlink,
        PuzzleFormat::Json => Format::Json,
    };
    let mut ended = Ended::Done;
    let mut written = String::new();
    for entry in puzzle_file::read(&args.file)? {
        match convert(&entry, format) {
            Ok(text) => {
                // A blank line ends a grid.
                if format == Format::Grid && !written.is_empty() {
                    written.push('\n');
                }
                written.push_str(&text);
            }
            Err(reason) => {
                eprintln!("{}: {}", escaped(&args.file), escape_indented(&reason));
                ended = Ended::BadPuzzle;
            }
        }
    }
    match &args.output {
        // Nothing takes the place of what the file held before.
        Some(_) if written.is_empty() => {}
        Some(path) => outputs::write(path, written)?,
        None => plain_stdout().write_all(written.as_bytes())?,
    }
    Ok(ended)
}

fn convert(entry: &Entry, format: Format) -> Result<String, String> {
    let sheet = entry.sheet().map_err(ToString::to_string)?;
    text::write_as(&sheet, format).map_err(|error| format!("line {}: {error}", entry.line))
}
