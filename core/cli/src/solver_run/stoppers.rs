//! Ends the pipelines of a run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use flowpipe_engine::run::Stopper;

/// The stoppers of the pipelines that have started.
#[derive(Default)]
pub struct Stoppers(Mutex<StopperState>);

#[derive(Default)]
struct StopperState {
    all: Vec<Stopper>,
    have_stopped: bool,
}

impl Stoppers {
    /// Adds a pipeline. It is aborted if the others were.
    pub fn add(&self, stopper: Stopper) {
        let mut state = self.lock();
        if state.have_stopped {
            stopper.abort();
        }
        state.all.push(stopper);
    }

    /// Aborts all pipelines, also those that start later.
    pub fn abort(&self) {
        let mut state = self.lock();
        state.have_stopped = true;
        state.all.iter().for_each(Stopper::abort);
    }

    /// Whether they were aborted.
    pub fn have_stopped(&self) -> bool {
        self.lock().have_stopped
    }

    fn lock(&self) -> MutexGuard<'_, StopperState> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
