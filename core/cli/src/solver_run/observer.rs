//! Listening to one of the pipelines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use flowpipe_engine::run::Observer;
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_puzzle::message::{SOLVED, STROKES};

/// The marks that the SDK sets around a solver's own work, and around a planner's.
const SOLVER: [&str; 2] = ["solving", "answered"];
const PLANNER: [&str; 2] = ["planning", "planned"];

/// What one pipeline tells.
pub struct Told {
    /// Which of the pipelines.
    pub lane: usize,
    /// What.
    pub what: What,
}

/// What a pipeline can tell.
pub enum What {
    /// An answer or a plan, with the nanoseconds of the plugin's own work where it marks them.
    Message(Arc<Message>, Option<i64>),
    /// Something went wrong.
    Problem(Problem),
}

/// Tells what happens in a pipeline.
pub struct Listen {
    lane: usize,
    told: Sender<Told>,
    solver: Mutex<Clock>,
    planner: Mutex<Clock>,
}

/// The work on one message. It is kept here, not sent: waking whoever listens would be timed too.
#[derive(Default)]
struct Clock {
    /// The message's number and when the work on it began, by the run's clock.
    began: Option<(u64, i64)>,
    /// How long the work took.
    took: Option<i64>,
}

impl Listen {
    /// Tells what happens in the pipeline of a number.
    pub fn new(lane: usize, told: Sender<Told>) -> Self {
        Self {
            lane,
            told,
            solver: Mutex::default(),
            planner: Mutex::default(),
        }
    }

    fn tell(&self, what: What) {
        // Nobody listens any more once asking has broken off.
        let _ = self.told.send(Told {
            lane: self.lane,
            what,
        });
    }
}

fn lock(clock: &Mutex<Clock>) -> MutexGuard<'_, Clock> {
    // Nothing that holds it can panic half way.
    clock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Listen {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        let clock = match message.schema() {
            SOLVED => &self.solver,
            STROKES => &self.planner,
            _ => return,
        };
        let took = lock(clock).took.take();
        self.tell(What::Message(Arc::clone(message), took));
    }

    fn mark(&self, _: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        let Some(message) = message else { return };
        let sequence = message.lineage().sequence;
        for (clock, [begins, ends]) in [(&self.solver, SOLVER), (&self.planner, PLANNER)] {
            if name == begins {
                lock(clock).began = Some((sequence, now_ns));
            } else if name == ends {
                let mut clock = lock(clock);
                // A plugin that was given up may still speak of an earlier message.
                clock.took = clock
                    .began
                    .take_if(|began| began.0 == sequence)
                    .map(|(_, began)| now_ns - began);
            }
        }
    }

    fn problem(&self, problem: &Problem, _: i64) {
        self.tell(What::Problem(problem.clone()));
    }
}
