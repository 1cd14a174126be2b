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
mod rule_words;
#[cfg(test)]
mod tests;
mod write;

use std::collections::VecDeque;
use std::iter::Enumerate;
use std::str::Lines;

use crate::puzzle::Puzzle;
use crate::solution::Solution;

pub use error::{TextError, TextProblem};
use json::JsonError;
use level::Tag;
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
    let mut entries = entries(text);
    entries.reader.puzzles = PUZZLES + text.len() / BYTES_PER_PUZZLE;
    entries.collect()
}

/// The puzzles of a text one by one, for callers that keep none of them: there may be any number.
#[must_use]
pub fn entries(text: &str) -> Entries<'_> {
    let room = CELLS + text.len().saturating_mul(CELLS_PER_BYTE);
    Entries {
        lines: text.trim_start_matches('\u{feff}').lines().enumerate(),
        reader: Reader {
            room,
            puzzles: usize::MAX,
            ..Reader::default()
        },
    }
}

/// The puzzles of a text, each read when it is asked for. See [`entries`].
pub struct Entries<'a> {
    lines: Enumerate<Lines<'a>>,
    reader: Reader<'a>,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.reader.entries.is_empty() && !self.reader.is_full {
            let Some((index, line)) = self.lines.next() else {
                self.reader.end_grid();
                break;
            };
            self.reader.line(index + 1, line);
        }
        self.reader.entries.pop_front()
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

#[derive(Default)]
struct Reader<'a> {
    /// Cells that there is room for. A board that is larger is still read, and is the last one.
    room: usize,
    /// Puzzles that there is room for.
    puzzles: usize,
    /// Whether nothing more is read.
    is_full: bool,
    /// Those that have not been taken yet.
    entries: VecDeque<Entry>,
    /// Comments since the last puzzle, and whether the next one goes on with them.
    title: Vec<&'a str>,
    title_open: bool,
    /// Line numbers and lines of the grid that is being collected.
    grid: Vec<(usize, &'a str)>,
}

/// What a puzzle's text contains.
struct Found {
    puzzle: Puzzle,
    solution: Option<Solution>,
    names: Vec<String>,
    title: Option<String>,
    tag: Option<Tag>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        let content = line.trim();
        if let Some(comment) = content.strip_prefix("//") {
            self.end_grid();
            if !self.title_open {
                self.title.clear();
            }
            self.title.push(comment.trim());
            self.title_open = true;
            return;
        }
        self.title_open = false;
        if content.is_empty() {
            self.end_grid();
        } else if content.starts_with('{') {
            self.end_grid();
            self.entry(number, || read_json(number, line));
        } else if puzzlink::is_link(content) {
            self.end_grid();
            self.entry(number, || puzzlink::read(number, line).map(Found::named));
        } else if content.contains(';') {
            self.end_grid();
            self.entry(number, || read_level(number, line));
        } else {
            if content.starts_with(grid::RULES) {
                self.end_grid();
            }
            self.grid.push((number, line));
        }
    }

    fn end_grid(&mut self) {
        let grid = std::mem::take(&mut self.grid);
        if let Some(&(number, _)) = grid.first() {
            self.entry(number, || grid::read(&grid).map(Found::named));
        }
    }

    fn entry(&mut self, line: usize, read: impl FnOnce() -> Result<Found, TextError>) {
        if self.is_full {
            return;
        }
        self.is_full = self.puzzles == 0;
        let refuse = |problem| {
            Err(TextError {
                line,
                column: 1,
                cell: None,
                problem,
            })
        };
        let read = match (self.is_full, self.room) {
            (true, _) => refuse(TextProblem::TooMany),
            (false, 0) => refuse(TextProblem::TooMuch),
            (false, _) => read(),
        };
        self.puzzles = self.puzzles.saturating_sub(1);
        if let Ok(found) = &read {
            self.room = self.room.saturating_sub(found.puzzle.board().len());
        }
        let comment = title(&self.title.join(" "));
        self.title.clear();
        self.entries.push_back(match read {
            Ok(found) => Entry {
                line,
                title: found.title.and_then(|it| title(&it)).or(comment),
                names: found.names,
                tag: found.tag,
                puzzle: Ok((found.puzzle, found.solution)),
            },
            Err(error) => Entry {
                line,
                title: comment,
                names: Vec::new(),
                tag: None,
                puzzle: Err(error),
            },
        });
    }
}

/// A title in one line: blanks and line breaks become single blanks. `None`: there is nothing else in it.
fn title(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl Found {
    fn named((puzzle, names): (Puzzle, Vec<String>)) -> Self {
        Self {
            puzzle,
            solution: None,
            names,
            title: None,
            tag: None,
        }
    }
}

fn read_level(number: usize, line: &str) -> Result<Found, TextError> {
    let level = level::parse(line).map_err(|error| TextError {
        line: number,
        column: error.column,
        cell: None,
        problem: TextProblem::Level(error.problem),
    })?;
    Ok(Found {
        names: json::own_names(&level.puzzle),
        tag: Some(level.tag()),
        title: None,
        puzzle: level.puzzle,
        solution: Some(level.solution),
    })
}

fn read_json(number: usize, line: &str) -> Result<Found, TextError> {
    let object = json::read(line).map_err(|error| {
        let (problem, byte) = match error {
            JsonError::Syntax(message, byte) => (TextProblem::Json(message), byte),
            // The terminals are at fault, or that there are none.
            JsonError::Puzzle(error) => {
                let terminals = line.find("\"terminals\"").unwrap_or(0);
                (TextProblem::Puzzle(error), terminals)
            }
        };
        let before = line.get(..byte).unwrap_or(line);
        TextError {
            line: number,
            column: before.chars().count() + 1,
            // Where one is at fault, the problem names it.
            cell: None,
            problem,
        }
    })?;
    Ok(Found {
        puzzle: object.puzzle,
        solution: object.solution,
        names: object.names,
        title: object.title,
        tag: object.tag,
    })
}
