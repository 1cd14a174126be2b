//! Where the puzzles of a run come from.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowpipe_puzzle::Puzzle;

use super::BATCH;

/// A puzzle to solve.
pub struct GivenPuzzle {
    /// Its place among the puzzles of the run, from 0.
    pub place: usize,
    /// What it is.
    pub content: PuzzleContent,
}

/// A puzzle, or its text.
pub enum PuzzleContent {
    /// A puzzle.
    Read(Puzzle),
    /// The text of one, which is read when it is its turn.
    Text(String),
}

/// Gives puzzles to pipelines, in the order of their places. Several pipelines share one.
pub trait PuzzleSource: Sync {
    /// Waits for the next puzzles for one of so many pipelines: for at least one, and at most [`BATCH`]. `None`: there
    /// are no more, or `has_ended`, which is asked at first and when [`Self::wake`] is called, returns true.
    fn take(&self, pipelines: usize, has_ended: &dyn Fn() -> bool) -> Option<Vec<GivenPuzzle>>;

    /// A pipeline has ended: the call of [`Self::take`] that waits for it returns.
    fn wake(&self);

    /// From now on there are none.
    fn close(&self);
}

/// How many of the puzzles that are there one of so many pipelines takes at once. The last ones are distributed evenly.
pub fn share(puzzles: usize, pipelines: usize) -> usize {
    (puzzles / (4 * pipelines.max(1))).clamp(1, BATCH)
}

/// Puzzles that are all there.
pub struct PuzzleList(Mutex<ListState>);

struct ListState {
    puzzles: VecDeque<PuzzleContent>,
    taken: usize,
}

impl PuzzleList {
    /// A list of these.
    pub fn new(puzzles: impl IntoIterator<Item = PuzzleContent>) -> Self {
        Self(Mutex::new(ListState {
            puzzles: puzzles.into_iter().collect(),
            taken: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, ListState> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PuzzleSource for PuzzleList {
    fn take(&self, pipelines: usize, has_ended: &dyn Fn() -> bool) -> Option<Vec<GivenPuzzle>> {
        if has_ended() {
            return None;
        }
        let mut state = self.lock();
        let left = state.puzzles.len();
        let count = share(left, pipelines).min(left);
        let first = state.taken;
        state.taken += count;
        let taken = state.puzzles.drain(..count).zip(first..);
        let taken: Vec<_> = taken
            .map(|(content, place)| GivenPuzzle { place, content })
            .collect();
        (!taken.is_empty()).then_some(taken)
    }

    /// No call waits.
    fn wake(&self) {}

    fn close(&self) {
        self.lock().puzzles.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_puzzle_is_given_once_and_the_last_ones_one_by_one() {
        let list = PuzzleList::new((0..500).map(|it| PuzzleContent::Text(it.to_string())));
        let (mut places, mut sizes) = (Vec::new(), Vec::new());
        while let Some(taken) = list.take(2, &|| false) {
            sizes.push(taken.len());
            places.extend(taken.into_iter().map(|it| it.place));
        }
        assert!(places.into_iter().eq(0..500));
        assert_eq!((sizes.first(), sizes.last()), (Some(&BATCH), Some(&1)));
        list.close();
        assert!(list.take(2, &|| false).is_none());
    }
}
