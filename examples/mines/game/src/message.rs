//! What flows between the stages of the domain.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::{Field, State};

/// Schema id of [`Sighting`].
pub const FIELD: &str = "mines.field/1";
/// Schema id of [`Moves`].
pub const MOVES: &str = "mines.moves/1";

/// What vision sees in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sighting {
    /// Where the frame comes from: the body of its message.
    pub frame: serde_json::Value,
    /// The field, or why none was read.
    pub reading: Reading,
}

/// A field, or why none was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Reading {
    /// There is a field.
    Field(SeenField),
    /// There is none, or it can't be read.
    Refused {
        /// Why.
        reason: String,
    },
}

/// A field in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenField {
    /// What it shows.
    pub field: Field,
    /// Whether the game goes on.
    pub state: State,
    /// Where it is.
    pub grid: Grid,
}

/// Where cells are, in frame pixels. They are squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// The left edge of the first cell.
    pub left: u32,
    /// Its upper edge.
    pub top: u32,
    /// The side of a cell.
    pub side: u32,
}

/// What is known of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moves {
    /// Where the frame comes from.
    pub frame: serde_json::Value,
    /// The field.
    pub seen: SeenField,
    /// Covered cells without mines, by their index, row by row.
    pub safe: BTreeSet<usize>,
    /// Covered cells with mines.
    pub mines: BTreeSet<usize>,
    /// The least dangerous cell, if none is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guess: Option<Guess>,
}

/// A cell that may have a mine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Guess {
    /// Its index.
    pub cell: usize,
    /// The chance of a mine.
    pub chance: f64,
}

impl Moves {
    /// Checks that all cells are cells of the field.
    ///
    /// # Errors
    /// Which one is not.
    pub fn check(&self) -> Result<(), String> {
        let count = self.seen.field.cells().len();
        let guess = self.guess.iter().map(|guess| guess.cell);
        let mut cells = self.safe.iter().chain(&self.mines).copied().chain(guess);
        match cells.find(|&cell| cell >= count) {
            Some(cell) => Err(format!("moves with cell {cell} of a field of {count}")),
            None => Ok(()),
        }
    }
}

impl Grid {
    /// The whole field: its left and upper edge, its width and height, in frame pixels.
    #[must_use]
    pub fn place(&self, field: &Field) -> [f64; 4] {
        let length = |cells: usize| cells as f64 * f64::from(self.side);
        let (left, top) = (f64::from(self.left), f64::from(self.top));
        [left, top, length(field.cols()), length(field.rows())]
    }

    /// The middle of a cell of a field, in frame pixels.
    #[must_use]
    pub fn middle(&self, field: &Field, cell: usize) -> [f64; 2] {
        let place = |start: u32, index: usize| {
            f64::from(start) + (index as f64 + 0.5) * f64::from(self.side)
        };
        [
            place(self.left, cell % field.cols()),
            place(self.top, cell / field.cols()),
        ]
    }
}
