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
    is_closed: bool,
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

    /// The pipeline is given no more puzzles: it has ended, or the run is broken off.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.has_fallen.notify_one();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Waits until the pipeline has no more puzzles than these. Returns whether it may be given more: the load is not
    /// closed.
    pub fn wait_for(&self, puzzles: usize) -> bool {
        let mut state = self.lock();
        while state.places.len() > puzzles && !state.is_closed {
            state.awaited = Some(puzzles);
            let waited = self.has_fallen.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.awaited = None;
        !state.is_closed
    }

    fn lock(&self) -> MutexGuard<'_, LoadState> {
        // No code that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_puzzles_or_the_load() {
        let load = LaneLoad::default();
        (0..3).for_each(|place| load.add(place));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| load.wait_for(2));
            load.remove(1);
            assert!(waits.join().unwrap());
            let waits = scope.spawn(|| load.wait_for(1));
            assert!(!load.is_closed());
            load.close();
            assert!(!waits.join().unwrap());
        });
        assert!(load.is_closed() && !load.wait_for(2));
    }
}
