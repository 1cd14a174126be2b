//! What is wrong with a text, and where.

use thiserror::Error;

use crate::board::BoardError;
use crate::colour;
use crate::puzzle::PuzzleError;
use crate::text::level::LevelProblem;
use crate::text::puzzlink::LinkProblem;
use crate::text::{MAX_TEXT, rule_words};

/// Why a text is no puzzle, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}{}: {problem}", .cell.map_or_else(String::new, |(row, col)| format!(" (cell at row {row}, column {col})")))]
#[non_exhaustive]
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

impl TextError {
    /// A problem of a whole line.
    pub(super) fn at_line(line: usize, problem: TextProblem) -> Self {
        Self {
            line,
            column: 1,
            cell: None,
            problem,
        }
    }
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
        /// The text there.
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
        "terminal {name} occurs {} in the grid, expected an even number of times",
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
    /// A word in the line before a grid that is no rule.
    #[error("expected {}, found {found:?}", rule_words::EXPECTED)]
    Rules {
        /// The text there.
        found: String,
    },
    /// The boards before it leave no room in memory.
    #[error("not read: the boards before this one are too large for one text, split it")]
    TooMuch,
    /// The puzzles before it are more than are kept of a text of its length.
    #[error("not read, and nothing after it: these are too many puzzles for one text, split it")]
    TooMany,
    /// A text that is longer than any puzzle's.
    #[error("not read: the text of a puzzle has at most {} MiB", MAX_TEXT >> 20)]
    TooLong,
    /// Rules without a grid.
    #[error("expected the rows of a grid after its rules")]
    NoRows,
    /// A well-formed text with a board or terminals that can't be.
    #[error(transparent)]
    Puzzle(#[from] PuzzleError),
    /// A URL that can't be read.
    #[error("not a Numberlink puzzle of puzz.link: {0}")]
    Link(LinkProblem),
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
