//! Reads the puzzles of a file, or of standard input, one by one.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use flowpipe_puzzle::text::{Entry, EntryReader, MAX_TEXT};

use crate::exit::Failure;
use crate::{input, outputs, puzzle_file};

/// How many bytes show of which kind a file is.
const KIND_BYTES: u64 = 16;

/// An input that may have any number of puzzles. It keeps a line and a puzzle of it.
pub struct PuzzleInput {
    name: String,
    from: BufReader<Box<dyn Read + Send>>,
    /// The last line.
    line: Vec<u8>,
    reader: EntryReader,
    is_over: bool,
}

impl PuzzleInput {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(file: &str) -> Result<Self, Failure> {
        let from: Box<dyn Read + Send> = match file {
            "-" => Box::new(io::stdin()),
            path => {
                outputs::note_input(path);
                input::open(Path::new(path)).map_err(|error| failure(file, error))?
            }
        };
        Ok(Self::new(file, from))
    }

    /// Reads from anything. `name`: for errors.
    pub fn new(name: &str, from: impl Read + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            from: BufReader::new(Box::new(from)),
            line: Vec::new(),
            reader: EntryReader::new(),
            is_over: false,
        }
    }

    /// The next puzzle. `None`: there are no more.
    ///
    /// # Errors
    /// When it can't be read, or is not UTF-8. The puzzles before that were returned.
    pub fn next(&mut self) -> Result<Option<Entry>, Failure> {
        loop {
            if let Some(entry) = self.reader.pop() {
                return Ok(Some(entry));
            }
            if self.is_over {
                return Ok(None);
            }
            self.read_line()?;
        }
    }

    fn read_line(&mut self) -> Result<(), Failure> {
        self.line.clear();
        let most = MAX_TEXT as u64 + 1;
        let read = self.from.by_ref().take(most);
        let read = { read }.read_until(b'\n', &mut self.line);
        let length = read.map_err(|error| failure(&self.name, error))?;
        if length == 0 {
            self.is_over = true;
            self.reader.end();
            return Ok(());
        }
        let is_whole = self.line.pop_if(|last| *last == b'\n').is_some();
        if !is_whole && self.line.len() > MAX_TEXT {
            self.skip_line()
                .map_err(|error| failure(&self.name, error))?;
            self.reader.push_long_line();
            return Ok(());
        }
        match std::str::from_utf8(&self.line) {
            Ok(line) => {
                self.reader.push_line(line);
                Ok(())
            }
            Err(_) => Err(self.not_text()),
        }
    }

    /// Skips the rest of a line, which may have no end.
    fn skip_line(&mut self) -> io::Result<()> {
        let mut rest = self.from.by_ref().take(input::PUZZLES);
        rest.skip_until(b'\n')?;
        if rest.limit() == 0 {
            let line = self.reader.lines() + 1;
            let most = input::PUZZLES;
            let text = format!("line {line} is longer than the {most} bytes that are read at most");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(())
    }

    /// The failure of a line that is not UTF-8.
    fn not_text(&mut self) -> Failure {
        let lines = self.reader.lines();
        if lines == 0 {
            self.line.push(b'\n');
            // A short file is of no known kind.
            let _ = self
                .from
                .by_ref()
                .take(KIND_BYTES)
                .read_to_end(&mut self.line);
        }
        let start = if lines == 0 { &self.line[..] } else { &[] };
        puzzle_file::not_text(&self.name, start, lines + 1)
    }
}

fn failure(file: &str, error: io::Error) -> Failure {
    Failure::File {
        path: file.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(from: impl Read + Send + 'static) -> PuzzleInput {
        PuzzleInput::new("-", from)
    }

    fn lines(input: &mut PuzzleInput) -> Vec<(usize, bool)> {
        let entries = std::iter::from_fn(|| input.next().unwrap());
        entries.map(|it| (it.line, it.puzzle.is_ok())).collect()
    }

    #[test]
    fn puzzles_are_those_of_the_whole_text() {
        let text = "\u{feff}// easy\r\nAB\r\nAB\r\n\r\n1:2,0,0,1;0,1\nA\nAA";
        let mut input = input(text.as_bytes());
        let all = std::iter::from_fn(|| input.next().unwrap()).collect::<Vec<_>>();
        assert_eq!(all, flowpipe_puzzle::text::read(text));
    }

    #[test]
    fn a_line_without_an_end_ends_the_input() {
        let mut input = input(b"AA\n\n".chain(io::repeat(0)));
        assert!(input.next().unwrap().unwrap().puzzle.is_ok());
        let error = input.next().unwrap_err().to_string();
        assert!(error.contains("line 3 is longer than"), "{error}");
    }

    #[test]
    fn a_long_line_is_a_puzzle_that_can_not_be_read() {
        for length in [MAX_TEXT + 1, MAX_TEXT + 2, 3 * MAX_TEXT] {
            let long = io::repeat(b'.').take(length as u64);
            let text = b"AA\n".chain(long).chain(&b"\nBB\n\nCC\n"[..]);
            let mut input = input(text);
            assert_eq!(
                lines(&mut input),
                [(1, true), (2, false), (3, true), (5, true)]
            );
        }
    }

    #[test]
    fn a_grid_without_an_end_takes_little_memory() {
        let rows = io::Cursor::new(b"A.\n".repeat(1 << 20));
        let mut input = input(rows.chain(io::repeat(b'.').take(1 << 20)));
        let entry = input.next().unwrap().unwrap();
        let error = entry.puzzle.unwrap_err().to_string();
        assert!(error.contains("too large"), "{error}");
        assert!(input.line.capacity() <= 2 << 20);
    }

    #[test]
    fn what_is_no_text_fails_behind_the_puzzles_before_it() {
        let mut input = input(&b"AA\n\nBB\n\n\xff\n"[..]);
        assert!(input.next().unwrap().is_some());
        assert!(input.next().unwrap().is_some());
        let error = input.next().err().unwrap().to_string();
        assert!(error.contains("line 5: this is not UTF-8"), "{error}");
    }

    #[test]
    fn a_picture_is_named() {
        let error = input(&b"\x89PNG\r\n\x1a\n\0\0\0"[..]).next().err().unwrap();
        assert!(error.to_string().contains("this is a picture"), "{error}");
    }
}
