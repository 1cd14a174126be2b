//! Puzzles as text, several in one text, every format known by its looks.
//!
//! - Grid text of single characters, a row a line: `R.G`.
//! - Grid text of tokens with blanks between: `7 - - 10`.
//! - Flow Free's level lines (they contain `;`), see [`level`].
//! - Puzzles as JSON objects, one a line, as in the messages.
//!
//! In both kinds of grid `.`, `-` and `_` are empty cells, `#` a hole, `+` a bridge; letters and
//! digits (whole words of them in the second kind) are terminals, and equal ones belong together,
//! upper and lower case apart. A puzzle in grid text is played by Flow Free's rules.
//!
//! A blank line, a comment or a puzzle of another format ends a grid. Lines that begin with `//` are
//! comments; the ones right before a puzzle (blank lines do not count) are its title.

use thiserror::Error;

use crate::board::{Board, BoardError, Description};
use crate::colour;
use crate::grid;
use crate::level::{self, LevelProblem};
use crate::puzzle::{Puzzle, PuzzleError, Rules};
use crate::solution::Solution;

/// One puzzle of a text, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line where it begins, from 1.
    pub line: usize,
    /// The comment before it.
    pub title: Option<String>,
    /// What the text calls each colour, by colour number: its own letters in grid text, else those
    /// of [`colour::name`]. Empty where the puzzle can't be read.
    pub names: Vec<String>,
    /// The puzzle, with its solution where the format gives one (not held against the rules).
    pub puzzle: Result<(Puzzle, Option<Solution>), TextError>,
}

/// Why a text is no puzzle, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}{}: {problem}", .cell.map_or_else(String::new, |(row, col)| format!(" (cell at row {row}, column {col})")))]
pub struct TextError {
    /// The line in the text, from 1.
    pub line: usize,
    /// Characters from 1 in that line.
    pub column: usize,
    /// Row and column on the board, both from 1, where one cell of a grid is at fault.
    pub cell: Option<(usize, usize)>,
    /// What is wrong there.
    pub problem: TextProblem,
}

/// What can be wrong in a puzzle's text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextProblem {
    /// A character or word that means nothing in a grid.
    #[error(
        "expected a letter or digit for a terminal, `.`, `-` or `_` for an empty cell, `#` for a hole or `+` for a bridge, found {found:?}"
    )]
    Cell {
        /// What stands there.
        found: String,
    },
    /// A row of another length than the first one.
    #[error("expected {expected} cells as in the grid's first row, found {found}")]
    Ragged {
        /// Cells in the first row.
        expected: usize,
        /// Cells in this one.
        found: usize,
    },
    /// A terminal without another to be joined to.
    #[error(
        "terminal {name} stands {} in the grid, expected an even number of times",
        if *.count == 1 { "once".to_owned() } else { format!("{count} times") }
    )]
    Odd {
        /// What the grid calls it.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// More names than there are colour numbers.
    #[error("a grid can have at most {} colours", usize::from(colour::Colour::MAX) + 1)]
    TooManyColours,
    /// A well-formed grid with a board or terminals that can't be.
    #[error(transparent)]
    Puzzle(#[from] PuzzleError),
    /// A level line that can't be read.
    #[error("not a Flow Free level: {0}")]
    Level(LevelProblem),
    /// A JSON object that is no puzzle.
    #[error("not a puzzle in JSON: {0}")]
    Json(String),
}

impl From<BoardError> for TextProblem {
    fn from(error: BoardError) -> Self {
        Self::Puzzle(error.into())
    }
}

/// Reads all puzzles of a text, in their order; one that is wrong spoils no other. A byte order mark
/// and line ends of any system are taken. A text without puzzles gives an empty list.
#[must_use]
pub fn read(text: &str) -> Vec<Entry> {
    let mut reader = Reader::default();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        reader.line(index + 1, line);
    }
    reader.end_grid();
    reader.entries
}

#[derive(Default)]
struct Reader<'a> {
    entries: Vec<Entry>,
    /// Comments since the last puzzle, and whether the next one goes on with them.
    title: Vec<&'a str>,
    title_open: bool,
    /// Line numbers and lines of the grid that is being collected.
    grid: Vec<(usize, &'a str)>,
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
            self.entry(number, read_json(number, line));
        } else if content.contains(';') {
            self.end_grid();
            self.entry(number, read_level(number, line));
        } else {
            self.grid.push((number, line));
        }
    }

    fn end_grid(&mut self) {
        let grid = std::mem::take(&mut self.grid);
        if let Some(&(number, _)) = grid.first() {
            self.entry(
                number,
                grid::read(&grid).map(|(puzzle, names)| (puzzle, None, names)),
            );
        }
    }

    fn entry(&mut self, line: usize, read: Result<Found, TextError>) {
        let title = self.title.join(" ");
        self.title.clear();
        let (puzzle, names) = match read {
            Ok((puzzle, solution, names)) => (Ok((puzzle, solution)), names),
            Err(error) => (Err(error), Vec::new()),
        };
        let title = (!title.is_empty()).then_some(title);
        self.entries.push(Entry {
            line,
            title,
            names,
            puzzle,
        });
    }
}

/// A puzzle, its solution and the names of its colours.
type Found = (Puzzle, Option<Solution>, Vec<String>);

fn read_level(number: usize, line: &str) -> Result<Found, TextError> {
    let level = level::parse(line).map_err(|error| TextError {
        line: number,
        column: error.column,
        cell: None,
        problem: TextProblem::Level(error.problem),
    })?;
    let names = own_names(&level.puzzle);
    Ok((level.puzzle, Some(level.solution), names))
}

fn read_json(number: usize, line: &str) -> Result<Found, TextError> {
    let puzzle: Puzzle = serde_json::from_str(line).map_err(|error| {
        let message = error.to_string();
        // The column stands in the place; serde_json counts it in bytes.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let before = line.get(..error.column().saturating_sub(1)).unwrap_or(line);
        TextError {
            line: number,
            column: before.chars().count() + 1,
            cell: None,
            problem: TextProblem::Json(message.trim_end_matches(&place).to_owned()),
        }
    })?;
    let names = own_names(&puzzle);
    Ok((puzzle, None, names))
}

fn own_names(puzzle: &Puzzle) -> Vec<String> {
    let last = puzzle.colours().last().copied().unwrap_or_default();
    (0..=last).map(colour::name).collect()
}

/// Writes a puzzle as text that [`read`] takes, ending in a newline: as grid text, or as one line of
/// JSON where a grid can't say it all (walls, warps, hexes, other rules than Flow Free's).
///
/// Reading gives the same puzzle back; from grid text, colours are numbered anew by first appearance.
#[must_use]
pub fn write(puzzle: &Puzzle) -> String {
    let board = puzzle.board().description();
    let grid_board = Description {
        rows: board.rows,
        cols: board.cols,
        holes: board.holes.clone(),
        bridges: board.bridges.clone(),
        ..Description::default()
    };
    let last_name = colour::name(puzzle.colours().last().copied().unwrap_or_default());
    // One column of long names has no blanks between them: it would be read as single characters.
    let one_column = board.cols == 1 && last_name.len() > 1;
    if *board != grid_board || puzzle.rules() != Rules::default() || one_column {
        return json(puzzle);
    }
    grid::write(puzzle, last_name.len())
}

fn json(puzzle: &Puzzle) -> String {
    let mut line = serde_json::json!(puzzle).to_string();
    line.push('\n');
    line
}

/// A rectangle of plain cells with holes and bridges, for grids.
pub(crate) fn grid_board(
    rows: usize,
    cols: usize,
    holes: Vec<usize>,
    bridges: Vec<usize>,
) -> Result<Board, BoardError> {
    Board::new(Description {
        rows,
        cols,
        holes,
        bridges,
        ..Description::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(name: &str, text: &str) {
        let shown: Vec<String> = read(text)
            .iter()
            .map(|entry| {
                let title = entry.title.as_deref().unwrap_or("-");
                match &entry.puzzle {
                    Ok((puzzle, solution)) => format!(
                        "line {}, {title}, {}, solution: {}\n{}",
                        entry.line,
                        entry.names.join(" "),
                        solution.is_some(),
                        write(puzzle)
                    ),
                    Err(error) => format!("line {}, {title}\n{error}\n", entry.line),
                }
            })
            .collect();
        crate::snapshot::settings().bind(|| insta::assert_snapshot!(name, shown.join("\n")));
    }

    #[test]
    fn reads_all_formats_from_one_text() {
        snapshot(
            "formats",
            "\u{feff}// A file\n// of puzzles\n\n// Two lines,\n// one title\nR.G\r\nR.G\r\n\r\n\
             7 - - 10\n- - # -\n7 _ . 10\n// After a comment\n1é\n1é\n\
             3,0,1,3;0,1,2;3,4,5;6,7,8\n\
             {\"board\":{\"rows\":1,\"cols\":3},\"terminals\":[{\"cell\":0,\"colour\":2},{\"cell\":2,\"colour\":2}]}\n\
             .A.\nB+B\n.A.",
        );
    }

    #[test]
    fn one_bad_puzzle_spoils_no_other() {
        snapshot(
            "text_errors",
            "R.G\nR.G.\n\nR.G\nR?G\n\n R.G\n r.G\n\n1 2 3\n1 2\n\n1 -- 1\n\nAAA\n\n+A\nA.\n\n...\n\n###\n\n\
             3,0,1,3;0,1,2;3,4,5;6,7,9\n{\"board\":3}\n{\"board\":{\"rows\":0,\"cols\":3},\"terminals\":[]}\n\
             {\"é\n\nR\u{0}R\n\nhello world\n\nAA",
        );
    }

    #[test]
    fn a_text_without_puzzles_is_an_empty_list() {
        assert_eq!(read(""), []);
        assert_eq!(read("\u{feff}\r\n  \n// only a comment\n"), []);
    }

    #[test]
    fn what_a_grid_cannot_say_is_written_as_json() {
        for line in ["W_3,0,1,3;1,0,2;5,3,4;8,7,6", "X_2:3,0,1,3;0,1;2,3;4,5"] {
            let puzzle = level::parse(line).unwrap().puzzle;
            let text = write(&puzzle);
            assert!(text.starts_with('{'), "{text}");
            assert_eq!(read(&text)[0].puzzle, Ok((puzzle, None)));
        }
    }

    #[test]
    fn too_large_a_grid_is_refused() {
        let text = format!("A{}A\n", ".".repeat(1000)).repeat(200);
        let error = read(&text)[0].puzzle.clone().unwrap_err();
        assert_eq!(
            error.problem,
            TextProblem::from(BoardError::TooLarge {
                rows: 200,
                cols: 1002
            })
        );
    }
}
