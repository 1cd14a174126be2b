//! What there is to show of a session.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_puzzle::{Flow, Puzzle};

use super::timing::{Phase, frames};
use super::{FLIP, FRAME, Session};
use crate::header::Header;

/// What there is to show. Equal views look the same.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What is written above the board.
    pub header: Header,
    /// The board.
    pub face: Face,
    /// The board flips over.
    pub flip: Option<Flip>,
}

/// A board and what is drawn on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// The puzzle.
    pub puzzle: Arc<Puzzle>,
    /// The drawn pipes.
    pub flows: Vec<Flow>,
}

/// A flip from one board to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    /// The board that goes.
    pub from: Arc<Face>,
    /// How much of the flip has passed, from 0 to 1, in steps of a frame.
    pub share: f64,
}

impl Session {
    /// What there is to show at a time, which must not be before that of any input.
    #[must_use]
    pub fn view(&self, now: Duration) -> View {
        let flip = match &self.phase {
            Phase::Flipping { since, from } => Some(Flip {
                from: Arc::clone(from),
                share: (FRAME * frames(*since, now)).as_secs_f64() / FLIP.as_secs_f64(),
            }),
            _ => None,
        };
        View {
            header: self.header(now),
            face: self.face(),
            flip,
        }
    }

    /// The board as it is.
    pub(super) fn face(&self) -> Face {
        Face {
            puzzle: Arc::clone(&self.puzzle),
            flows: self.play.drawn(),
        }
    }

    fn header(&self, now: Duration) -> Header {
        let board = self.puzzle.board();
        let size = format!("{}x{}", board.cols(), board.rows());
        let is_over = matches!(self.phase, Phase::Over);
        let (title, note) = match self.options.trial {
            Some(lasts) => {
                let left = self.trial_left(now).unwrap_or(lasts);
                let title = if is_over {
                    "the end".to_owned()
                } else {
                    clock(left)
                };
                (title, format!("{size}   solved: {}", self.solved))
            }
            None if is_over => ("the end".to_owned(), size),
            None => (format!("level {}", self.number), size),
        };
        Header {
            title,
            note,
            flows: self.play.flows_joined(),
            moves: self.play.moves(),
            best: None,
            pipe_percent: self.play.pipe_percent(),
        }
    }
}

/// Minutes and seconds, begun ones counted.
fn clock(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
