//! The reasons why a picture is refused.
//!
//! Texts complete the sentence "not a board that I can read: …". Rows and columns count from 1 in them.

use flowpipe_plugin::puzzle::message::BoardState;
use thiserror::Error;

/// What kept a picture from being read as a board.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Refusal {
    /// A picture that is larger than any screen.
    #[error("{width} by {height} pixels, which is more than screens have")]
    PictureSize {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Nothing in the picture is crossed by lines at all.
    #[error("no large shape made of thin lines")]
    NoShape,
    /// Thin lines, but not at one distance in both directions.
    #[error("no evenly spaced lines that make square cells")]
    NoGrid,
    /// Fewer or more rows or columns than asked for.
    #[error(
        "a grid of {rows} by {cols} cells, boards have {min} to {max} a side (min_cells, max_cells)"
    )]
    Size {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// The fewest that the config allows.
        min: usize,
        /// The most that the config allows.
        max: usize,
    },
    /// A side of a cell is not drawn.
    #[error(
        "{missing} of {all} cell sides are not drawn in a grid of {rows} by {cols}, the first at row \
         {row}, column {col}: uncover the board, or restart the level if pipes cover them"
    )]
    SidesMissing {
        /// Sides without a line.
        missing: usize,
        /// Sides in all.
        all: usize,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Row of the first one's cell, from 1.
        row: usize,
        /// Column of the first one's cell, from 1.
        col: usize,
    },
    /// Something lies over lines where no pipe is drawn.
    #[error("row {row}, column {col}: something covers a line beside it")]
    Covered {
        /// Row of a cell beside it, from 1.
        row: usize,
        /// Column of that cell, from 1.
        col: usize,
    },
    /// Grid lines do not end at the border.
    #[error("its grid goes on beyond the {side} border")]
    GoesOn {
        /// Left, right, upper or lower.
        side: &'static str,
    },
    /// The picture ends at the border line.
    #[error(
        "the picture ends at its {side} border, where it may go on: show a little of what is beyond"
    )]
    MayGoOn {
        /// Left, right, upper or lower.
        side: &'static str,
    },
    /// A cell holds something that is neither a terminal nor a pipe.
    #[error("row {row}, column {col}: {what}")]
    StrangeCell {
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
        /// What is strange about it.
        what: &'static str,
    },
    /// An empty grid.
    #[error("a grid of {rows} by {cols} cells without terminals")]
    NoTerminals {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// An odd number of terminals.
    #[error("terminals that cannot be pairs: {0} of them")]
    OddTerminals(usize),
    /// Terminals that do not pair by colour.
    #[error("row {row}, column {col}: this terminal's colour has no clear partner")]
    NoPartner {
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
    },
    /// Terminals of several greys, which differ too little.
    #[error("its terminals are all grey: without colours it is unknown which belong together")]
    NoColours,
    /// Another board than the one whose terminals are known, or too little of it is seen.
    #[error("a board that may be another one than before")]
    OtherBoard,
    /// Lines are drawn over numbers, so that these can't be read.
    #[error(
        "row {row}, column {col}: lines seem to cover a terminal: undo or restart the board, or start the pipeline on \
         the empty board"
    )]
    LinesOver {
        /// Row of a cell with such a line, from 1.
        row: usize,
        /// Column of that cell, from 1.
        col: usize,
    },
    /// A board on which pipes are drawn can't be read, as one with nothing drawn may be.
    #[error(
        "{why}; the board is partly drawn, as at row {row}, column {col}: restart the level, and capture it again"
    )]
    PartlyDrawn {
        /// Row of a cell with a pipe, from 1.
        row: usize,
        /// Column of that cell, from 1.
        col: usize,
        /// What can't be read.
        why: Box<Self>,
    },
    /// A pipe that the game could not have drawn.
    #[error("row {row}, column {col}: a pipe that {what}")]
    StrangePipe {
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
        /// What is strange about it.
        what: &'static str,
    },
    /// No solution.
    #[error(
        "a board without a solution, on which something must be misread: restart the level if pipes are drawn"
    )]
    Unsolvable,
    /// Two boards of similar size.
    #[error(
        "two boards of similar size in one picture: name the place of one (`region` of capture-screen) or, where the desktop reports \
         windows, its window (--window), or crop the picture"
    )]
    TwoBoards,
    /// A board that turns, and shows too little of itself.
    #[error("a board that is turned too far")]
    TurnedTooFar,
    /// A board that is seen in perspective, and cannot be read there.
    #[error("a board in perspective, as one that flips over: {0}")]
    InPerspective(Box<Refusal>),
    /// A picture so small that the cells of most boards have too few pixels.
    #[error(
        "{why}; the picture has only {width} by {height} pixels: capture or show it larger, so that cells have 16 \
         pixels and more"
    )]
    SmallPicture {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
        /// What can't be read.
        why: Box<Self>,
    },
    /// A picture as large as a screen, which may show more than the game.
    #[error(
        "{0}; if the picture shows more than the game, name its place (`region` of capture-screen) or, where the desktop reports \
         windows, its window (--window), or crop the picture"
    )]
    InScreen(Box<Self>),
    /// A board that was read while it turns, and has not landed.
    #[error("a board that still turns, and was read already")]
    StillTurns,
}

/// The shorter side of a small picture is shorter than this, in pixels: a board of ten rows that fills it has cells of
/// less than 24 pixels.
const SMALL_PICTURE: usize = 240;

/// Screens have so many pixels in a row, and so many rows, at least.
const SCREEN: [usize; 2] = [1280, 720];

/// The step that looks for boards that turn.
const FLIP: &str = "flip";
/// [`Refusal::progress`] of what is not refused.
const ALL_OF_IT: u32 = 13;

impl Refusal {
    /// The step that gave up, by name.
    #[must_use]
    pub fn step(&self) -> &'static str {
        match self {
            Self::PictureSize { .. } | Self::NoShape | Self::TwoBoards => "find board",
            Self::NoGrid | Self::Size { .. } => "grid lines",
            Self::SidesMissing { .. } | Self::GoesOn { .. } | Self::MayGoOn { .. } => "cells",
            Self::NoTerminals { .. } | Self::OddTerminals(_) | Self::OtherBoard => "terminals",
            Self::StrangeCell { .. } | Self::Covered { .. } => "contents",
            Self::NoPartner { .. } | Self::NoColours | Self::LinesOver { .. } => "colours",
            Self::StrangePipe { .. } => "pipes",
            Self::Unsolvable => "solution",
            Self::TurnedTooFar | Self::InPerspective(_) | Self::StillTurns => FLIP,
            Self::SmallPicture { why, .. }
            | Self::PartlyDrawn { why, .. }
            | Self::InScreen(why) => why.step(),
        }
    }

    /// The same of a board that is seen in perspective.
    #[must_use]
    pub fn in_perspective(self) -> Self {
        match self {
            Self::TurnedTooFar => self,
            why => Self::InPerspective(Box::new(why)),
        }
    }

    /// The same of a picture of a size, with a hint where that is small or a whole screen's.
    #[must_use]
    pub fn in_picture(self, width: usize, height: usize) -> Self {
        if matches!(self, Self::TwoBoards | Self::StillTurns) {
            self
        } else if width.min(height) < SMALL_PICTURE {
            let why = Box::new(self);
            Self::SmallPicture { width, height, why }
        } else if width >= SCREEN[0] && height >= SCREEN[1] && self.step() != FLIP {
            Self::InScreen(Box::new(self))
        } else {
            self
        }
    }

    /// What is known of the board's state.
    #[must_use]
    pub fn state(&self) -> Option<BoardState> {
        (self.step() == FLIP).then_some(BoardState::Moving)
    }

    /// How much of a board was made out, from 0 to 1: see [`Refusal::progress`].
    #[must_use]
    pub fn confidence(&self) -> f64 {
        f64::from(self.progress()) / f64::from(ALL_OF_IT)
    }

    /// Whether there may be a board that turns all the same, some cells of which lie as those of one at rest.
    #[must_use]
    pub fn may_turn(&self) -> bool {
        self.progress() < Self::Unsolvable.progress()
    }

    /// How far reading came: of several refusals, the largest one is the most informative.
    #[must_use]
    pub fn progress(&self) -> u32 {
        match self {
            Self::PictureSize { .. } | Self::NoShape => 0,
            Self::NoGrid => 1,
            Self::Size { .. } => 2,
            Self::SidesMissing { missing, all, .. } if 2 * missing > *all => 3,
            Self::SidesMissing { .. } => 4,
            Self::GoesOn { .. } | Self::MayGoOn { .. } => 5,
            Self::NoTerminals { .. } | Self::OtherBoard => 6,
            Self::OddTerminals(_) => 7,
            Self::NoPartner { .. } | Self::NoColours | Self::LinesOver { .. } => 8,
            Self::StrangeCell { .. } | Self::Covered { .. } => 9,
            Self::StrangePipe { .. } => 10,
            Self::Unsolvable => 11,
            Self::TwoBoards => 12,
            Self::InPerspective(why)
            | Self::SmallPicture { why, .. }
            | Self::PartlyDrawn { why, .. }
            | Self::InScreen(why) => why.progress(),
            Self::TurnedTooFar | Self::StillTurns => 13,
        }
    }
}
