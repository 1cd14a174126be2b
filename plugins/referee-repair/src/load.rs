//! Whether the machine was busy: what a game misses then says nothing of the game.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Sightings that are compared.
const WINDOW: usize = 64;
/// A sighting that comes later after its capture than this is late, in nanoseconds, if it also takes longer than most.
const LATE_NS: i64 = 60_000_000;
/// So many times as long as most.
const TIMES: i64 = 3;

/// How long frames take from their capture to the referee.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Load {
    delays: VecDeque<i64>,
    /// When the last late sighting came.
    late_at: Option<i64>,
}

impl Load {
    /// A sighting of a frame captured then has come.
    pub fn note(&mut self, captured: i64, now: i64) {
        let delay = now.saturating_sub(captured);
        let mut sorted: Vec<i64> = self.delays.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2);
        if median.is_some_and(|median| delay > LATE_NS && delay / TIMES > *median) {
            self.late_at = Some(now);
        }
        if self.delays.len() == WINDOW {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
    }

    /// Whether a sighting was late since then.
    pub fn was_late_since(&self, time: i64) -> bool {
        self.late_at.is_some_and(|late| late >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn late_is_what_takes_much_longer_than_most() {
        let mut load = Load::default();
        for frame in 0..20 {
            load.note(frame * 100 * MS, (frame * 100 + 30) * MS);
        }
        assert!(!load.was_late_since(0));
        load.note(2000 * MS, 2085 * MS);
        assert!(!load.was_late_since(0), "less than three times as long");
        load.note(2100 * MS, 2200 * MS);
        assert!(load.was_late_since(2150 * MS) && !load.was_late_since(2201 * MS));
    }

    #[test]
    fn a_machine_that_is_always_slow_is_not_late() {
        let mut load = Load::default();
        for frame in 0..200 {
            load.note(frame * 500 * MS, (frame * 500 + 400) * MS);
        }
        assert!(!load.was_late_since(0));
    }
}
