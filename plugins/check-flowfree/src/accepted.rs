//! The puzzles of the sightings that were accepted last: answers contain the sighting that was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_plugin::puzzle::Puzzle;

/// How many are kept: more than wait in the queues between vision and solvers.
const KEPT: usize = 64;

/// A longer text is not kept, in bytes.
const LONGEST: usize = 64 << 10;

/// The puzzles of accepted sightings, the newest first.
#[derive(Default)]
pub struct AcceptedPuzzles(Mutex<VecDeque<AcceptedPuzzle>>);

struct AcceptedPuzzle {
    /// The text of the sighting.
    sighting: Box<[u8]>,
    puzzle: Arc<Puzzle>,
}

impl AcceptedPuzzles {
    /// Keeps a puzzle.
    pub fn keep(&self, sighting: &[u8], puzzle: Puzzle) {
        if sighting.len() > LONGEST {
            return;
        }
        let kept = AcceptedPuzzle {
            sighting: sighting.into(),
            puzzle: Arc::new(puzzle),
        };
        let mut list = self.lock();
        let oldest = match list.len() {
            KEPT => list.pop_back(),
            _ => None,
        };
        list.push_front(kept);
        drop(list);
        // Freed outside of the lock.
        drop(oldest);
    }

    /// The puzzle of a sighting with exactly this text.
    pub fn find(&self, sighting: &[u8]) -> Option<Arc<Puzzle>> {
        let list = self.lock();
        let accepted = list.iter().find(|it| *it.sighting == *sighting)?;
        Some(accepted.puzzle.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<AcceptedPuzzle>> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::text;

    use super::*;

    #[test]
    fn the_last_ones_are_kept_by_their_exact_text() {
        let puzzle = || text::read("AA").remove(0).puzzle.unwrap().0;
        let accepted = AcceptedPuzzles::default();
        for number in 0..=KEPT {
            accepted.keep(number.to_string().as_bytes(), puzzle());
        }
        assert!(accepted.find(b"0").is_none(), "the oldest");
        assert_eq!(*accepted.find(b"1").unwrap(), puzzle());
        assert!(accepted.find(b"1 ").is_none());
        accepted.keep(&vec![b' '; LONGEST + 1], puzzle());
        assert!(accepted.find(&vec![b' '; LONGEST + 1]).is_none());
        assert_eq!(accepted.lock().len(), KEPT);
    }
}
