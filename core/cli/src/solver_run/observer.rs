//! Observes one of the pipelines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use flowpipe_engine::run::Observer;
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_puzzle::message::{SOLVED, STROKES};

use super::ReadAnswer;
use crate::one_off::OneOffError;

/// The marks that the SDK sets around the work of a solver, and of a planner.
const SOLVER: [&str; 2] = ["solving", "answered"];
const PLANNER: [&str; 2] = ["planning", "planned"];

/// An event of one pipeline.
pub struct SolverEvent {
    /// The number of the pipeline.
    pub lane: usize,
    /// The event.
    pub kind: SolverEventKind,
}

/// The kinds of events.
pub enum SolverEventKind {
    /// An answer or a plan, with the nanoseconds between the plugin's marks, if it sets them.
    Message(Arc<Message>, Option<i64>),
    /// A problem.
    Problem(Problem),
    /// A puzzle, by its place, was not accepted.
    Refused(usize, String),
    /// Nothing more comes of a puzzle.
    Settled(usize),
    /// The stages of the pipeline have ended: it takes no more puzzles.
    StagesEnded,
    /// The pipeline has ended: nothing more comes of it.
    Ended(Result<(), OneOffError>),
}

/// Sends the events of a pipeline.
pub struct SolverObserver {
    lane: usize,
    events: Sender<SolverEvent>,
    solver: Mutex<WorkTimer>,
    planner: Mutex<WorkTimer>,
}

/// The time of the work on one message. It is kept here, not sent: waking the receiver would be timed too.
#[derive(Default)]
struct WorkTimer {
    /// The message's number and when the work on it started, by the run's clock.
    started: Option<(u64, i64)>,
    /// How long the work took.
    took: Option<i64>,
}

impl SolverObserver {
    /// An observer of the pipeline with this number.
    pub fn new(lane: usize, events: Sender<SolverEvent>) -> Self {
        Self {
            lane,
            events,
            solver: Mutex::default(),
            planner: Mutex::default(),
        }
    }

    fn send(&self, kind: SolverEventKind) {
        // The receiver is gone once a reply broke the loop.
        let _ = self.events.send(SolverEvent {
            lane: self.lane,
            kind,
        });
    }
}

fn lock(timer: &Mutex<WorkTimer>) -> MutexGuard<'_, WorkTimer> {
    // No code that holds the lock can panic.
    timer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for SolverObserver {
    fn accepted(&self, message: &Message) {
        if message.schema() == SOLVED {
            // It is kept for the receiver. An error shows there.
            let _ = message.read::<ReadAnswer>();
        }
    }

    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        let timer = match message.schema() {
            SOLVED => &self.solver,
            STROKES => &self.planner,
            _ => return,
        };
        let took = lock(timer).took.take();
        self.send(SolverEventKind::Message(Arc::clone(message), took));
    }

    fn mark(&self, _: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        let Some(message) = message else { return };
        let sequence = message.lineage().sequence;
        for (timer, [starts, ends]) in [(&self.solver, SOLVER), (&self.planner, PLANNER)] {
            if name == starts {
                lock(timer).started = Some((sequence, now_ns));
            } else if name == ends {
                let mut timer = lock(timer);
                // An abandoned plugin may still mark an earlier message.
                timer.took = timer
                    .started
                    .take_if(|started| started.0 == sequence)
                    .map(|(_, started)| now_ns - started);
            }
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        self.send(SolverEventKind::Problem(problem.clone()));
    }

    fn ended(&self) {
        self.send(SolverEventKind::StagesEnded);
    }
}
