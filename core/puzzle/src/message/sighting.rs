//! What vision made of a frame.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FrameNote;
use super::answer::is_false;
use crate::colour;
use crate::geometry::Geometry;
use crate::puzzle::Puzzle;
use crate::solution::Flow;

/// The side of a cell in the picture that a puzzle of a text pretends to be in, in pixels.
const TEXT_CELL: f64 = 64.0;

/// What vision made of one frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sighting {
    /// The frame looked at.
    pub frame: FrameNote,
    /// What is there.
    pub reading: Reading,
    /// What looking cost, by step. Only where it was asked for: it differs from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepTime>,
}

/// What one step of reading a frame cost.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// The step, such as `find board`.
    pub step: String,
    /// Milliseconds of the host's clock, all times that the step was taken together.
    pub ms: f64,
}

impl StepTime {
    /// A step that took `ms` milliseconds.
    #[must_use]
    pub fn new(step: impl Into<String>, ms: f64) -> Self {
        Self {
            step: step.into(),
            ms,
        }
    }
}

/// What vision read: a board exactly, or none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Reading {
    /// A board, read exactly.
    Board(Box<SeenBoard>),
    /// Not a board that can be read.
    #[non_exhaustive]
    Refused {
        /// The step that gave up, such as `find board`.
        step: String,
        /// Why, in a sentence.
        reason: String,
        /// From 0 to 1, how much of a board was made out: 0 nothing, near 1 everything but one
        /// thing.
        #[serde(default)]
        confidence: f64,
        /// How far the board is played, where so much was made out: that it is moving.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<BoardState>,
    },
}

impl Reading {
    /// A board, read exactly.
    #[must_use]
    pub fn board(board: SeenBoard) -> Self {
        Self::Board(Box::new(board))
    }

    /// Not a board that can be read: the step that gave up, and why, in a sentence. Nothing of a board was made out.
    #[must_use]
    pub fn refused(step: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused {
            step: step.into(),
            reason: reason.into(),
            confidence: 0.0,
            state: None,
        }
    }

    /// The same reading with a confidence, from 0 to 1.
    #[must_use]
    pub fn with_confidence(mut self, value: f64) -> Self {
        match &mut self {
            Self::Board(board) => board.confidence = value,
            Self::Refused { confidence, .. } => *confidence = value,
        }
        self
    }

    /// The same reading of a board in this state.
    #[must_use]
    pub fn with_state(mut self, value: BoardState) -> Self {
        match &mut self {
            Self::Board(board) => board.state = value,
            Self::Refused { state, .. } => *state = Some(value),
        }
        self
    }
}

/// A board in a frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenBoard {
    /// The puzzle.
    pub puzzle: Puzzle,
    /// Where it lies in the frame.
    pub geometry: Geometry,
    /// What the colours look like: red, green, blue from 0 to 255, by colour number.
    pub palette: Vec<[u8; 3]>,
    /// Pipes already drawn, finished or not, each from a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Flow>,
    /// How far the board is played.
    pub state: BoardState,
    /// How sure vision is of the reading, from 0 to 1.
    pub confidence: f64,
    /// Its terminals are numbers, as in puzzles on paper, and not coloured. Such puzzles need not cover the board.
    #[serde(default, skip_serializing_if = "is_false")]
    pub numbers: bool,
}

impl SeenBoard {
    /// A puzzle where it lies in the frame, with what its colours look like, by colour number. Nothing is drawn on it,
    /// and there is no doubt about it.
    #[must_use]
    pub fn new(puzzle: Puzzle, geometry: Geometry, palette: Vec<[u8; 3]>) -> Self {
        Self {
            puzzle,
            geometry,
            palette,
            drawn: Vec::new(),
            state: BoardState::Empty,
            confidence: 1.0,
            numbers: false,
        }
    }

    /// A puzzle as if it was seen upright in the corner of a picture, with nothing drawn on it. `cell`:
    /// the side of a cell, in frame pixels.
    #[must_use]
    pub fn untouched(puzzle: Puzzle, cell: f64) -> Self {
        let (rows, cols) = (puzzle.board().rows(), puzzle.board().cols());
        let (width, height) = (cell * cols as f64, cell * rows as f64);
        let last = puzzle.colours().last().copied();
        let geometry = Geometry::axis_aligned(0.0, 0.0, width, height, rows, cols);
        let palette = colour::palette(last.map_or(0, |last| usize::from(last) + 1));
        Self::new(puzzle, geometry, palette)
    }

    /// The same board with pipes on it, and how far it is played.
    #[must_use]
    pub fn with_drawn(mut self, drawn: Vec<Flow>, state: BoardState) -> Self {
        self.drawn = drawn;
        self.state = state;
        self
    }

    /// The same board, and whether its terminals are numbers.
    #[must_use]
    pub fn with_numbers(mut self, numbers: bool) -> Self {
        self.numbers = numbers;
        self
    }

    /// The same board, read with a confidence from 0 to 1.
    #[must_use]
    pub fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }
}

/// How far a board is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoardState {
    /// Nothing is drawn.
    Empty,
    /// Some pipes are drawn.
    Partial,
    /// Every flow is joined and every cell covered.
    Solved,
    /// It is still moving: not to be played yet.
    Moving,
}

impl Sighting {
    /// What was made of a frame.
    #[must_use]
    pub fn new(frame: FrameNote, reading: Reading) -> Self {
        Self {
            frame,
            reading,
            steps: Vec::new(),
        }
    }

    /// A puzzle that was read from a text, as if it was seen in a picture. `source`: where it is from.
    #[must_use]
    pub fn of_text(puzzle: Puzzle, source: impl Into<String>) -> Self {
        let seen = SeenBoard::untouched(puzzle, TEXT_CELL);
        Self::new(FrameNote::of(source), Reading::board(seen))
    }

    /// The same sighting, with the time of each step.
    #[must_use]
    pub fn with_steps(mut self, steps: Vec<StepTime>) -> Self {
        self.steps = steps;
        self
    }

    /// The board, if one was read.
    #[must_use]
    pub fn board(&self) -> Option<&SeenBoard> {
        match &self.reading {
            Reading::Board(board) => Some(board),
            Reading::Refused { .. } => None,
        }
    }
}
