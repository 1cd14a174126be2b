//! Which generated puzzles of workers are generated again: whether a puzzle is that of its seed can't be seen otherwise.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use flowpipe_generate::Random;
use flowpipe_sync::lock;

/// Of answers with fewer puzzles than this, about one of so many puzzles is generated again; of each longer answer, one is.
/// A worker decides how many puzzles its answers have.
const INTERVAL: usize = 64;
/// The most puzzles that are remembered of a worker.
const MOST_SEEN: usize = 1 << 16;

/// Chooses the puzzles. No worker knows which ones.
pub struct GeneratedSamples {
    /// For the hashes of puzzles, so that no worker finds two with the same.
    hasher: RandomState,
    state: Mutex<SeenPuzzles>,
}

struct SeenPuzzles {
    random: Random,
    /// By worker, the hashes of its puzzles.
    seen: BTreeMap<String, HashSet<u64>>,
}

impl Default for GeneratedSamples {
    fn default() -> Self {
        let hasher = RandomState::new();
        let seed = hasher.hash_one(0);
        Self::of(hasher, seed)
    }
}

impl GeneratedSamples {
    fn of(hasher: RandomState, seed: u64) -> Self {
        let state = SeenPuzzles {
            random: Random::new(seed),
            seen: BTreeMap::new(),
        };
        Self {
            hasher,
            state: Mutex::new(state),
        }
    }

    /// Which one of an answer of a worker is generated again: one at most. `sent`: each place, and its puzzle as a line. Of
    /// the first answer of a worker one is always, and so is the first one that it has sent before: few are the same.
    pub fn choose<'a>(
        &self,
        machine: &str,
        sent: &'a [(u64, String)],
    ) -> Option<&'a (u64, String)> {
        let SeenPuzzles { random, seen } = &mut *lock(&self.state);
        let seen = seen.entry(machine.to_owned()).or_default();
        let is_new = seen.is_empty();
        let mut repeated = None;
        for puzzle in sent {
            if seen.len() >= MOST_SEEN {
                seen.clear();
            }
            if !seen.insert(self.hasher.hash_one(&puzzle.1)) {
                repeated = repeated.or(Some(puzzle));
            }
        }
        let is_sampled = is_new || random.below(INTERVAL) < sent.len();
        repeated.or_else(|| random.pick(sent).filter(|_| is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn puzzles(places: std::ops::Range<u64>) -> Vec<(u64, String)> {
        places.map(|place| (place, place.to_string())).collect()
    }

    #[test]
    fn some_of_each_worker_and_what_it_repeats_are_generated_again() {
        let samples = GeneratedSamples::of(RandomState::new(), 1);
        for machine in ["one", "two"] {
            assert_eq!(samples.choose(machine, &[]), None);
            assert!(samples.choose(machine, &puzzles(0..1)).is_some());
            let single = (1..6_401).filter(|place| {
                let one = puzzles(*place..place + 1);
                samples.choose(machine, &one).is_some()
            });
            let chosen = single.count();
            assert!((50..200).contains(&chosen), "{chosen}");
            let many = puzzles(10_000..10_100);
            assert!(samples.choose(machine, &many).is_some());
            let again = [(20_000, "7".to_owned())];
            assert_eq!(samples.choose(machine, &again), again.first());
        }
    }

    #[test]
    fn few_are_remembered() {
        let samples = GeneratedSamples::default();
        let many = puzzles(0..2 * MOST_SEEN as u64 + 5);
        samples.choose("one", &many);
        assert_eq!(lock(&samples.state).seen["one"].len(), 5);
    }
}
