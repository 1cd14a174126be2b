//! The puzzles that a pipeline has.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The puzzles that were given to a pipeline, and of which more may come.
#[derive(Default)]
pub struct LaneLoad {
    state: Mutex<LoadState>,
    has_fallen: Condvar,
}

#[derive(Default)]
struct LoadState {
    places: HashSet<usize>,
    /// The load that is waited for.
    awaited: Option<usize>,
}

impl LaneLoad {
    /// The pipeline is given the puzzle at a place.
    pub fn add(&self, place: usize) {
        self.lock().places.insert(place);
    }

    /// The pipeline is done with the puzzle at a place. A plugin that hangs may keep it: then its failure counts.
    pub fn remove(&self, place: usize) {
        let mut state = self.lock();
        state.places.remove(&place);
        if state.awaited.is_some_and(|it| state.places.len() <= it) {
            self.has_fallen.notify_one();
        }
    }

    /// Waits until the pipeline has no more puzzles than these.
    pub fn wait_for(&self, puzzles: usize) {
        let mut state = self.lock();
        while state.places.len() > puzzles {
            state.awaited = Some(puzzles);
            let waited = self.has_fallen.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.awaited = None;
    }

    fn lock(&self) -> MutexGuard<'_, LoadState> {
        // No code that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
