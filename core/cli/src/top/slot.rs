//! The last messages of a run, kept for whoever looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_engine::run::{Observer, PipelineChange};
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{
    OUTCOME, Outcome, Reading, SIGHTING, SOLVED, Sighting, Solved, Strokes, Verdict,
};
use flowpipe_puzzle::message::{STROKES, SeenBoard};
use serde::de::DeserializeOwned;

use super::wire::{Board, StageHello};
use crate::checks::with_reason;
use crate::show::happenings::Tally;

/// Keeps the last messages. They are read only when somebody asks.
#[derive(Default)]
pub struct Slot(Mutex<Last>);

/// The last of each kind.
#[derive(Clone, Default)]
struct Last {
    sighting: Option<Arc<Message>>,
    solved: Option<Arc<Message>>,
    strokes: Option<Arc<Message>>,
    /// Of these strokes.
    outcome: Option<Arc<Message>>,
    tally: Tally,
    /// How the pipeline changed last, and its stages since.
    changed: Option<Changed>,
    /// Counts the messages.
    number: u64,
}

impl Observer for Slot {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        let schema = message.schema();
        if ![SIGHTING, SOLVED, STROKES, OUTCOME].contains(&schema) {
            return;
        }
        // Pixels are given back when nobody needs them any more, not when the next message comes.
        if message.frame().is_some() {
            return;
        }
        let mut last = self.lock();
        last.number += 1;
        if schema == STROKES {
            last.outcome = None;
        }
        let place = match schema {
            SIGHTING => &mut last.sighting,
            SOLVED => &mut last.solved,
            STROKES => &mut last.strokes,
            _ => &mut last.outcome,
        };
        let before = place.replace(message.clone());
        drop(last);
        // Freed outside the lock.
        drop(before);
    }

    fn changed(&self, line: &PipelineChange<'_>) {
        let stages = line.pipeline().stages;
        self.lock().changed = Some(Changed {
            text: line.changes.to_string(),
            stages: stages.iter().map(StageHello::of).collect(),
        });
    }
}

/// A change of the pipeline.
#[derive(Clone)]
pub struct Changed {
    /// What, in a line.
    pub text: String,
    /// The stages since.
    pub stages: Vec<StageHello>,
}

impl Slot {
    /// How the pipeline changed last.
    pub fn changed(&self) -> Option<Changed> {
        self.lock().changed.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the boards so far.
    pub fn tell(&self, tally: &Tally) {
        self.lock().tally = tally.counts();
    }

    pub fn tally(&self) -> Tally {
        self.lock().tally.clone()
    }

    /// Changes with every message.
    pub fn number(&self) -> u64 {
        self.lock().number
    }

    /// Lets go of the messages.
    pub fn clear(&self) {
        let mut last = self.lock();
        let kept = Last {
            tally: last.tally.clone(),
            changed: last.changed.clone(),
            ..Last::default()
        };
        let before = std::mem::replace(&mut *last, kept);
        drop(last);
        drop(before);
    }

    /// What the last messages say. `before`: the last board that was read, for when the last frame shows none.
    pub fn board(&self, before: Option<SeenBoard>) -> Board {
        let last = self.lock().clone();
        let sighting = read::<Sighting>(last.sighting.as_ref());
        let solved = read::<Solved>(last.solved.as_ref());
        let mut board = Board {
            source: sighting
                .as_ref()
                .map(|it| it.frame.source.clone())
                .unwrap_or_default(),
            outcome: read::<Outcome>(last.outcome.as_ref()),
            strokes: read::<Strokes>(last.strokes.as_ref()),
            ..Board::default()
        };
        let answered = solved.as_ref().and_then(|it| it.sighting.board().cloned());
        match sighting.map(|it| it.reading) {
            Some(Reading::Board(seen)) => board.seen = Some(*seen),
            Some(Reading::Refused { step, reason, .. }) => {
                board.refused = Some((step, reason));
                board.seen = before.or_else(|| answered.clone());
            }
            None => board.seen = before.or_else(|| answered.clone()),
        }
        let is_answered = match (&board.seen, &answered) {
            (Some(seen), Some(answered)) => seen.puzzle == answered.puzzle,
            _ => false,
        };
        if let Some(solved) = solved.filter(|_| is_answered) {
            match solved.answer {
                Verdict::Solution { solution, .. } => board.flows = solution.flows,
                Verdict::Unsolvable { reason } => {
                    board.unsolved = Some(with_reason("no solution", &reason));
                }
                Verdict::Unsupported { reason } | Verdict::Unknown { reason } => {
                    board.unsolved = Some(reason);
                }
            }
            board.solver = Some(solved.solver);
        }
        board
    }
}

/// Every message here has passed the checks: what does not parse is of another schema.
fn read<T: DeserializeOwned>(message: Option<&Arc<Message>>) -> Option<T> {
    serde_json::from_str(message?.json()).ok()
}
