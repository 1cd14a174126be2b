//! What there is to show of a session.

use std::sync::Arc;
use std::time::Duration;

use flowpipe_puzzle::{Flow, Puzzle};

use super::timing::{Phase, frames};
use super::{FRAME, Session};
use crate::cover::Cover;
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
    /// What covers the board, which does not flip then.
    pub cover: Option<&'static Cover>,
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

/// What there is to show at a time, which must not be before that of any input.
#[must_use]
pub(super) fn view(session: &Session, now: Duration) -> View {
    let lasts = session.options.manner.flip;
    let flip = match &session.phase {
        Phase::Flipping { since, from } => Some(Flip {
            from: Arc::clone(from),
            share: (FRAME * frames(*since, now, lasts)).as_secs_f64() / lasts.as_secs_f64(),
        }),
        _ => None,
    };
    View {
        header: header(session, now),
        face: face(session),
        flip,
        cover: match &session.phase {
            Phase::Interlude { steps, .. } => steps.cover(),
            _ => None,
        },
    }
}

/// The board as it is.
pub(super) fn face(session: &Session) -> Face {
    Face {
        puzzle: Arc::clone(&session.puzzle),
        flows: session.play.drawn(),
    }
}

fn header(session: &Session, now: Duration) -> Header {
    let board = session.puzzle.board();
    let size = format!("{}x{}", board.cols(), board.rows());
    let is_over = matches!(session.phase, Phase::Over);
    let (title, note) = match session.options.trial {
        Some(lasts) => {
            let left = session.trial_left(now).unwrap_or(lasts);
            let title = if is_over {
                "the end".to_owned()
            } else {
                clock(left)
            };
            (title, format!("{size}   solved: {}", session.solved))
        }
        None if is_over => ("the end".to_owned(), size),
        None => (format!("level {}", session.number), size),
    };
    Header {
        title,
        note,
        flows: session.play.flows_joined(),
        moves: session.play.moves(),
        best: None,
        pipe_percent: session.play.pipe_percent(),
    }
}

/// Minutes and seconds, begun ones counted.
fn clock(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
