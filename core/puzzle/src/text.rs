//! Puzzles as text, several in one text, every format detected by its syntax.
//!
//! - Grid text of single characters, a row a line: `R.G`.
//! - Grid text of tokens with blanks between: `7 - - 10`.
//! - Flow Free's level lines (they contain `;`), see [`level`].
//! - [puzz.link](https://puzz.link)'s URLs of Numberlink puzzles, see [`puzzlink`].
//! - JSON objects, one a line: a puzzle as in the messages (`board`, `terminals`, `rules`), and beside
//!   it, where they are known, its `solution`, the `names` of its colours, its `title` and as which
//!   `level` of the game it is known ([`level::Tag`]).
//!
//! In both kinds of grid `.`, `-` and `_` are empty cells, `#` a hole, `+` a bridge; letters and
//! digits (whole words of them in the second kind) are terminals, and equal ones belong together,
//! upper and lower case apart. A grid is played by Flow Free's rules, or by those that a line right
//! before it gives: `rules: empty, touch`. The words are `cover` (every cell is covered) or `empty`,
//! and `touch` (a flow may touch itself) or `no-touch`.
//!
//! A blank line, a comment or a puzzle of another format ends a grid. Lines that begin with `//` are
//! comments; the ones right before a puzzle (blank lines do not count) are its title.

mod error;
mod excerpt;
mod grid;
mod json;
pub mod level;
mod named;
pub mod puzzlink;
mod reader;
mod rule_words;
#[cfg(test)]
mod tests;
mod write;

use std::str::Lines;

use crate::puzzle::Puzzle;
use crate::solution::Solution;

pub use error::{TextError, TextProblem};
use level::Tag;
pub use reader::{EntryReader, MAX_TEXT};
pub use rule_words::RulesError;
pub use write::{Format, Sheet, UnsupportedByFormat, write, write_as, write_line};

/// One puzzle of a text, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line where it begins, from 1.
    pub line: usize,
    /// The comment before it, or the title that it gives itself: one line, with single blanks between its words.
    pub title: Option<String>,
    /// What the text calls each colour, by colour number: its own letters in grid text, its numbers
    /// in a URL, else those of [`colour::name`](crate::colour::name). Empty where the puzzle can't be
    /// read.
    pub names: Vec<String>,
    /// Which level of the game it is, where the text names it.
    pub tag: Option<Tag>,
    /// The puzzle, with its solution where the format gives one (not checked against the rules).
    pub puzzle: Result<(Puzzle, Option<Solution>), TextError>,
}

impl Entry {
    /// Everything known about the puzzle, to be written in another format.
    ///
    /// # Errors
    /// Why it can't be read.
    pub fn sheet(&self) -> Result<Sheet<'_>, &TextError> {
        let (puzzle, solution) = self.puzzle.as_ref()?;
        Ok(Sheet {
            puzzle,
            solution: solution.as_ref(),
            title: self.title.as_deref(),
            names: &self.names,
            tag: self.tag.as_ref(),
        })
    }
}

/// Reads all puzzles of a text, in their order; one that is wrong spoils no other. A byte order mark
/// and line ends of any system are taken. A text without puzzles gives an empty list.
///
/// Memory is in proportion to the text: a few bytes can ask for a large board, but not again and again, and a puzzle
/// takes memory however short its text is. The last entry is an error where not all puzzles are read.
#[must_use]
pub fn read(text: &str) -> Vec<Entry> {
    let puzzles = PUZZLES + text.len() / BYTES_PER_PUZZLE;
    within(text, puzzles).collect()
}

/// The puzzles of a text one by one, for callers that keep none of them: there may be any number.
#[must_use]
pub fn entries(text: &str) -> Entries<'_> {
    within(text, usize::MAX)
}

fn within(text: &str, puzzles: usize) -> Entries<'_> {
    let room = CELLS + text.len().saturating_mul(CELLS_PER_BYTE);
    Entries {
        lines: text.lines(),
        reader: EntryReader::within(room, puzzles),
    }
}

/// The puzzles of a text, each read when it is asked for. See [`entries`].
pub struct Entries<'a> {
    lines: Lines<'a>,
    reader: EntryReader,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.reader.pop() {
                return Some(entry);
            }
            if self.reader.is_full() {
                return None;
            }
            let Some(line) = self.lines.next() else {
                self.reader.end();
                return self.reader.pop();
            };
            self.reader.push_line(line);
        }
    }
}

/// The cells that the boards of a text may have together: so many, and so many more for each of its bytes. A cell takes
/// some 95 bytes of memory. A URL encodes up to 20 empty cells in a byte, and most boards take far more bytes.
const CELLS: usize = 1 << 20;
const CELLS_PER_BYTE: usize = 4;
/// The puzzles that a text may have which are all kept: so many, and one more for so many of its bytes. A board of 4 x
/// 4 cells takes 20 bytes; most are larger.
const PUZZLES: usize = 1 << 16;
const BYTES_PER_PUZZLE: usize = 32;
