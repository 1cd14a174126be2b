//! The puzzles that are distributed among workers.

use std::ops::Range;

use flowpipe_machines::batch::Supply;
use flowpipe_puzzle::Puzzle;

/// Puzzles by their places. There may be more later, and those whose outcomes were delivered may be gone.
pub trait PuzzleStore: Sync {
    /// How many there are by now.
    fn supply(&self) -> Supply;

    /// The puzzles at these places, up to the first one that is not there.
    fn puzzles(&self, places: Range<usize>) -> Vec<Puzzle>;
}

impl PuzzleStore for &[Puzzle] {
    fn supply(&self) -> Supply {
        Supply::all(self.len() as u64)
    }

    fn puzzles(&self, places: Range<usize>) -> Vec<Puzzle> {
        self.get(places).unwrap_or_default().to_vec()
    }
}
