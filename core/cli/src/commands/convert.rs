//! `flowpipe convert FILE|- --to FORMAT`: writes puzzles in another format.

use std::io::{BufWriter, IntoInnerError, StdoutLock, Write as _};
use std::path::Path;

use flowpipe_output::OutputFile;
use flowpipe_puzzle::text::{self, Entry, Format};
use flowpipe_terminal::{Output, eprintln, escape_indented, escaped, plain_stdout};

use crate::args::{Convert, PuzzleFormat};
use crate::exit::{Ended, Failure};
use crate::puzzle_input::PuzzleInput;
use crate::{outputs, puzzle_file};

/// A puzzle that can't be read or written affects no other.
pub fn run(args: &Convert) -> Result<Ended, Failure> {
    let format = match args.to {
        PuzzleFormat::Grid => Format::Grid,
        PuzzleFormat::Level => Format::Level,
        PuzzleFormat::Puzzlink => Format::Puzzlink,
        PuzzleFormat::Json => Format::Json,
    };
    let mut ended = Ended::Done;
    let mut input = PuzzleInput::open(&args.file)?;
    let mut is_empty = true;
    // Opened with the first puzzle: without one, an existing file is kept.
    let mut writing: Option<PuzzleWriter<'_>> = None;
    while let Some(entry) = input.next()? {
        is_empty = false;
        match convert(&entry, format) {
            Ok(text) => {
                let writing = match &mut writing {
                    Some(writing) => {
                        // A blank line ends a grid.
                        if format == Format::Grid {
                            writing.write("\n")?;
                        }
                        writing
                    }
                    none => none.insert(PuzzleWriter::open(args.output.as_deref())?),
                };
                writing.write(&text)?;
            }
            Err(reason) => {
                eprintln!("{}: {}", escaped(&args.file), escape_indented(&reason));
                ended = Ended::BadPuzzle;
            }
        }
    }
    writing.map_or(Ok(()), PuzzleWriter::end)?;
    match is_empty {
        true => Err(puzzle_file::no_puzzles(&args.file)),
        false => Ok(ended),
    }
}

/// The output, written as puzzles are read.
enum PuzzleWriter<'a> {
    Stdout(BufWriter<Output<StdoutLock<'static>>>),
    File(&'a Path, BufWriter<OutputFile>),
}

impl<'a> PuzzleWriter<'a> {
    fn open(to: Option<&'a Path>) -> Result<Self, Failure> {
        Ok(match to {
            None => Self::Stdout(BufWriter::new(plain_stdout())),
            Some(path) => Self::File(path, BufWriter::new(outputs::create(path)?)),
        })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(stdout) => Ok(stdout.write_all(text.as_bytes())?),
            Self::File(path, file) => {
                let written = file.write_all(text.as_bytes());
                written.map_err(outputs::failure(path))
            }
        }
    }

    fn end(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut stdout) => Ok(stdout.flush()?),
            Self::File(path, file) => {
                let file = file.into_inner().map_err(IntoInnerError::into_error);
                file.and_then(OutputFile::commit)
                    .map_err(outputs::failure(path))
            }
        }
    }
}

fn convert(entry: &Entry, format: Format) -> Result<String, String> {
    let sheet = entry.sheet().map_err(ToString::to_string)?;
    text::write_as(&sheet, format).map_err(|error| format!("line {}: {error}", entry.line))
}
