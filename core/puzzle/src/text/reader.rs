//! Reads puzzles from a text that comes line by line.

use std::collections::VecDeque;

use crate::board::Board;
use crate::puzzle::Puzzle;
use crate::solution::Solution;
use crate::text::json::{self, JsonError};
use crate::text::level::{self, Tag};
use crate::text::{Entry, TextError, TextProblem, grid, puzzlink};

/// The longest text of a puzzle, in bytes.
pub const MAX_TEXT: usize = 16 << 20;
/// The most bytes of comments that are one title: further lines are left out.
const MAX_TITLE: usize = 1 << 16;

/// Reads the puzzles of a text that comes line by line, and may have no end.
///
/// ```
/// let mut reader = flowpipe_puzzle::text::EntryReader::new();
/// reader.push_line("AA");
/// // The next line may be of the same grid.
/// assert_eq!(reader.pop(), None);
/// reader.end();
/// assert!(reader.pop().unwrap().puzzle.is_ok());
/// ```
#[derive(Debug)]
pub struct EntryReader {
    /// Lines so far.
    lines: usize,
    /// Cells that there is room for. A board that is larger is still read, and is the last one.
    room: usize,
    /// Puzzles that there is room for.
    puzzles: usize,
    /// Whether nothing more is read.
    is_full: bool,
    /// Those that have not been taken yet.
    entries: VecDeque<Entry>,
    /// Comments since the last puzzle, and whether the next one goes on with them.
    title: String,
    title_open: bool,
    grid: GridLines,
}

/// The lines of the grid that is being collected.
#[derive(Debug, Default)]
struct GridLines {
    /// The number of the first one.
    first: usize,
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// How many are left out, since no board is so large.
    left_out: usize,
}

/// What a puzzle's text contains.
struct Found {
    puzzle: Puzzle,
    solution: Option<Solution>,
    names: Vec<String>,
    title: Option<String>,
    tag: Option<Tag>,
}

impl Default for EntryReader {
    fn default() -> Self {
        Self::new()
    }
}

impl EntryReader {
    /// A reader of any number of puzzles: for callers that keep few of them. It itself keeps those that are not taken, and
    /// [`MAX_TEXT`] bytes and one line of the next one at most.
    #[must_use]
    pub fn new() -> Self {
        Self::within(usize::MAX, usize::MAX)
    }

    /// A reader of puzzles with so many cells together, and of so many puzzles.
    pub(super) fn within(room: usize, puzzles: usize) -> Self {
        Self {
            lines: 0,
            room,
            puzzles,
            is_full: false,
            entries: VecDeque::new(),
            title: String::new(),
            title_open: false,
            grid: GridLines::default(),
        }
    }

    /// Reads the next line, without its line break. One that is longer than [`MAX_TEXT`] is a puzzle that is not read.
    pub fn push_line(&mut self, line: &str) {
        if line.len() > MAX_TEXT {
            return self.push_long_line();
        }
        let line = match self.lines {
            0 => line.trim_start_matches('\u{feff}'),
            _ => line,
        };
        self.lines += 1;
        let content = line.trim();
        if let Some(comment) = content.strip_prefix("//") {
            self.end_grid();
            self.add_comment(comment.trim());
            return;
        }
        self.title_open = false;
        let number = self.lines;
        if content.is_empty() {
            self.end_grid();
        } else if content.starts_with('{') {
            self.end_grid();
            self.add(number, || read_json(number, line));
        } else if puzzlink::is_link(content) {
            self.end_grid();
            self.add(number, || puzzlink::read(number, line).map(Found::named));
        } else if content.contains(';') {
            self.end_grid();
            self.add(number, || read_level(number, line));
        } else {
            if content.starts_with(grid::RULES) {
                self.end_grid();
            }
            self.grid.push(number, line);
        }
    }

    /// Counts a line that is longer than [`MAX_TEXT`], for callers that have not kept it.
    pub fn push_long_line(&mut self) {
        self.end_grid();
        self.lines += 1;
        self.title_open = false;
        let number = self.lines;
        self.add(number, || Err(too_long(number)));
    }

    /// There are no more lines.
    pub fn end(&mut self) {
        self.end_grid();
    }

    /// Takes the next puzzle, if one has been read.
    pub fn pop(&mut self) -> Option<Entry> {
        self.entries.pop_front()
    }

    /// How many lines were read.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whether there is no room for further puzzles.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    fn add_comment(&mut self, comment: &str) {
        if !self.title_open {
            self.title.clear();
        }
        if self.title.is_empty() || self.title.len() + comment.len() < MAX_TITLE {
            self.title.push_str(comment);
            self.title.push(' ');
        }
        self.title_open = true;
    }

    fn end_grid(&mut self) {
        if self.grid.is_empty() {
            return;
        }
        let mut grid = std::mem::take(&mut self.grid);
        self.add(grid.first, || {
            grid::read(&grid.lines(), grid.left_out).map(Found::named)
        });
        // Its memory is used again.
        grid.clear();
        self.grid = grid;
    }

    fn add(&mut self, line: usize, read: impl FnOnce() -> Result<Found, TextError>) {
        if self.is_full {
            return;
        }
        self.is_full = self.puzzles == 0;
        let refuse = |problem| Err(TextError::at_line(line, problem));
        let read = match (self.is_full, self.room) {
            (true, _) => refuse(TextProblem::TooMany),
            (false, 0) => refuse(TextProblem::TooMuch),
            (false, _) => read(),
        };
        self.puzzles = self.puzzles.saturating_sub(1);
        if let Ok(found) = &read {
            self.room = self.room.saturating_sub(found.puzzle.board().len());
        }
        let comment = title(&self.title);
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

impl GridLines {
    fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.left_out == 0
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.left_out = 0;
    }

    fn push(&mut self, number: usize, line: &str) {
        if self.is_empty() {
            self.first = number;
        }
        let has_room =
            self.ends.len() <= Board::MAX_CELLS && self.text.len() + line.len() <= MAX_TEXT;
        if self.left_out > 0 || !has_room {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.ends.push(self.text.len());
    }

    /// The lines with their numbers.
    fn lines(&self) -> Vec<(usize, &str)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lines = starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.text[start..end]);
        (self.first..).zip(lines).collect()
    }
}

/// The error of a puzzle whose text is longer than [`MAX_TEXT`].
pub(super) fn too_long(line: usize) -> TextError {
    TextError::at_line(line, TextProblem::TooLong)
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
