//! A puzzle: a board, its terminals and the rules that a solution keeps.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::board::{Board, BoardError, Cell};
use crate::colour::{self, Colour};

/// A coloured dot.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// The index of its cell: `row * cols + col`, both from 0.
    pub cell: Cell,
    /// The number of its colour, from 0.
    pub colour: Colour,
}

impl Terminal {
    /// A dot of a colour in a cell.
    #[must_use]
    pub const fn new(cell: Cell, colour: Colour) -> Self {
        Self { cell, colour }
    }
}

/// What a solution must keep besides joining the terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Every cell is covered (Flow Free: pipe 100 %).
    pub cover: bool,
    /// Two cells of one flow may be neighbours without following each other. In all known Flow Free
    /// levels no flow touches itself.
    pub touch: bool,
}

impl Rules {
    /// Whether every cell is covered, and whether a flow may touch itself.
    #[must_use]
    pub const fn new(cover: bool, touch: bool) -> Self {
        Self { cover, touch }
    }

    /// Whether the rules `other` permit everything that these permit.
    #[must_use]
    pub const fn are_within(self, other: Self) -> bool {
        (self.cover || !other.cover) && (!self.touch || other.touch)
    }

    /// The strictest rules that permit everything that these or the rules `other` permit.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self::new(self.cover && other.cover, self.touch || other.touch)
    }
}

impl Default for Rules {
    /// Flow Free's: cover, no touching.
    fn default() -> Self {
        Self {
            cover: true,
            touch: false,
        }
    }
}

/// A board with terminals and rules. Each colour has two terminals, or any larger even number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Parts<'_>")]
#[schemars(with = "Parts<'_>")]
pub struct Puzzle {
    board: Board,
    terminals: Vec<Terminal>,
    rules: Rules,
    /// Colour by cell, derived from the terminals.
    colour_at: Vec<Option<Colour>>,
}

/// A puzzle as it is written in messages and files.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a puzzle with a board and terminals")]
struct Parts<'a> {
    /// The cells and which of them touch.
    board: Cow<'a, Board>,
    /// The coloured dots, by cell.
    terminals: Cow<'a, [Terminal]>,
    /// What a solution must keep; Flow Free's rules when left out.
    #[serde(default, skip_serializing_if = "is_default")]
    rules: Rules,
}

fn is_default(rules: &Rules) -> bool {
    *rules == Rules::default()
}

/// Why a puzzle can't be made. Rows and columns count from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PuzzleError {
    /// The board is wrong.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A terminal beside the board or in a hole.
    #[error("a terminal of colour {} at cell {cell}, which is not on the board", colour::name(*.colour))]
    OffBoard {
        /// Where.
        cell: Cell,
        /// Its colour.
        colour: Colour,
    },
    /// A terminal on a bridge.
    #[error("row {row}, column {col}: a terminal of colour {} on a bridge", colour::name(*.colour))]
    OnBridge {
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
        /// Its colour.
        colour: Colour,
    },
    /// Two terminals in one cell.
    #[error("row {row}, column {col}: two terminals in one cell")]
    Twice {
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
    },
    /// A colour that can't be paired.
    #[error(
        "row {row}, column {col}: colour {} has {count} terminal{}, it needs an even number",
        colour::name(*.colour), if *.count == 1 { "" } else { "s" }
    )]
    Odd {
        /// Row of its first terminal, from 1.
        row: usize,
        /// Column of its first terminal, from 1.
        col: usize,
        /// The colour.
        colour: Colour,
        /// How many terminals it has.
        count: usize,
    },
    /// No terminals.
    #[error("there are no terminals")]
    NoTerminals,
}

impl Puzzle {
    /// Terminals may come in any order; they are kept by cell.
    ///
    /// # Errors
    /// See [`PuzzleError`].
    pub fn new(
        board: Board,
        mut terminals: Vec<Terminal>,
        rules: Rules,
    ) -> Result<Self, PuzzleError> {
        terminals.sort_unstable();
        let mut colour_at = vec![None; board.len()];
        if terminals.is_empty() {
            return Err(PuzzleError::NoTerminals);
        }
        for &Terminal { cell, colour } in &terminals {
            if !board.exists(cell) {
                return Err(PuzzleError::OffBoard { cell, colour });
            }
            let (row, col) = board.row_col(cell);
            let (row, col) = (row + 1, col + 1);
            if board.is_bridge(cell) {
                return Err(PuzzleError::OnBridge { row, col, colour });
            }
            if colour_at[cell].replace(colour).is_some() {
                return Err(PuzzleError::Twice { row, col });
            }
        }
        let mut by_colour = terminals.clone();
        by_colour.sort_by_key(|terminal| (terminal.colour, terminal.cell));
        for group in by_colour.chunk_by(|a, b| a.colour == b.colour) {
            if group.len() % 2 != 0 {
                let (row, col) = board.row_col(group[0].cell);
                return Err(PuzzleError::Odd {
                    row: row + 1,
                    col: col + 1,
                    colour: group[0].colour,
                    count: group.len(),
                });
            }
        }
        Ok(Self {
            board,
            terminals,
            rules,
            colour_at,
        })
    }

    /// The cells and which of them touch.
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The coloured dots, by cell.
    #[must_use]
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// What a solution must keep.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The same puzzle under other rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The colour of the terminal in a cell, if there is one.
    #[must_use]
    pub fn terminal_at(&self, cell: Cell) -> Option<Colour> {
        self.colour_at.get(cell).copied().flatten()
    }

    /// The colours in use, ascending.
    #[must_use]
    pub fn colours(&self) -> Vec<Colour> {
        let mut colours: Vec<_> = self
            .terminals
            .iter()
            .map(|terminal| terminal.colour)
            .collect();
        colours.sort_unstable();
        colours.dedup();
        colours
    }

    /// How many flows a solution has: half the terminals.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        self.terminals.len() / 2
    }
}

impl TryFrom<Parts<'_>> for Puzzle {
    type Error = PuzzleError;

    fn try_from(parts: Parts<'_>) -> Result<Self, PuzzleError> {
        let (board, terminals) = (parts.board.into_owned(), parts.terminals.into_owned());
        Self::new(board, terminals, parts.rules)
    }
}

impl Serialize for Puzzle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = Parts {
            board: Cow::Borrowed(&self.board),
            terminals: Cow::Borrowed(&self.terminals),
            rules: self.rules,
        };
        parts.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
