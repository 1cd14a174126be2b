//! The last messages of a run, kept for viewers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_engine::run::{Observer, PipelineChange};
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{
    OUTCOME, Outcome, Reading, SIGHTING, SOLVED, Sighting, Solved, Strokes, Verdict,
};
use flowpipe_puzzle::message::{STROKES, SeenBoard};
use serde::de::DeserializeOwned;

use super::protocol::{BoardView, StageHello};
use crate::accepted::{read, with_reason};
use crate::metrics::RunMetrics;
use crate::tally::Tally;

/// Keeps the last messages. They are parsed only for viewers.
pub struct LastMessages {
    latest: Mutex<Latest>,
    /// Of the whole run.
    metrics: RunMetrics,
}

/// The last of each kind.
#[derive(Clone, Default)]
struct Latest {
    sighting: Option<Arc<Message>>,
    solved: Option<Arc<Message>>,
    strokes: Option<Arc<Message>>,
    /// The outcome of these strokes.
    outcome: Option<Arc<Message>>,
    tally: Tally,
    /// How the pipeline changed last, and its stages since.
    changed: Option<Changed>,
    /// Counts the messages.
    number: u64,
}

impl Observer for LastMessages {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        let schema = message.schema();
        if ![SIGHTING, SOLVED, STROKES, OUTCOME].contains(&schema) {
            return;
        }
        // Messages with pixels are not kept: the pixels would be freed late.
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
    /// The change, in a line.
    pub text: String,
    /// The stages since.
    pub stages: Vec<StageHello>,
}

impl LastMessages {
    /// No messages. `tally`: that of the run, whose metrics are sent to viewers.
    pub fn new(tally: &Tally) -> Self {
        let latest = Latest {
            tally: tally.counts(),
            ..Latest::default()
        };
        Self {
            latest: Mutex::new(latest),
            metrics: tally.metrics.clone(),
        }
    }

    /// The metrics so far.
    pub fn metrics(&self) -> &RunMetrics {
        &self.metrics
    }

    /// How the pipeline changed last.
    pub fn changed(&self) -> Option<Changed> {
        self.lock().changed.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the counts.
    pub fn update(&self, tally: &Tally) {
        self.lock().tally = tally.counts();
    }

    pub fn tally(&self) -> Tally {
        self.lock().tally.clone()
    }

    /// Changes with every message.
    pub fn number(&self) -> u64 {
        self.lock().number
    }

    /// Drops the messages.
    pub fn clear(&self) {
        let mut last = self.lock();
        let kept = Latest {
            tally: last.tally.clone(),
            changed: last.changed.clone(),
            ..Latest::default()
        };
        let before = std::mem::replace(&mut *last, kept);
        drop(last);
        drop(before);
    }

    /// The board of the last messages. `before`: the last board, if the last frame shows none.
    pub fn board(&self, before: Option<SeenBoard>) -> BoardView {
        let last = self.lock().clone();
        let sighting = last_of::<Sighting>(&last.sighting);
        let solved = last_of::<Solved>(&last.solved);
        let mut board = BoardView {
            source: sighting
                .as_ref()
                .map(|it| it.frame.source.clone())
                .unwrap_or_default(),
            outcome: last_of::<Outcome>(&last.outcome),
            strokes: last_of::<Strokes>(&last.strokes),
            ..BoardView::default()
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
                Verdict::Unsolvable { reason, .. } => {
                    board.unsolved = Some(with_reason("no solution", &reason));
                }
                Verdict::Unsupported { reason, .. } | Verdict::Unknown { reason, .. } => {
                    board.unsolved = Some(reason);
                }
            }
            board.solver = Some(solved.solver);
        }
        board
    }
}

fn last_of<T>(message: &Option<Arc<Message>>) -> Option<T>
where
    T: Clone + DeserializeOwned + Send + Sync + 'static,
{
    read(message.as_ref()?).map(Arc::unwrap_or_clone)
}
