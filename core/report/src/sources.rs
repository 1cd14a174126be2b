//! What frames show: the windows, files and so on that their notes name.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The different ones, in the order in which they were first seen.
#[derive(Debug, Default)]
pub struct Sources {
    /// The first one; empty: there is none.
    pub first: String,
    /// The hash of each: names may be long, and many.
    seen: HashSet<u64>,
}

/// The most characters of a source that are shown.
const LONGEST: usize = 200;

impl Sources {
    /// A further one, which may be known.
    pub fn add(&mut self, source: &str) {
        if source.is_empty() {
            return;
        }
        if self.seen.is_empty() {
            self.first = source.chars().take(LONGEST).collect();
        }
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        self.seen.insert(hasher.finish());
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.seen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once() {
        let mut sources = Sources::default();
        for source in ["", "Mines", "Mines", "other", "", &"x".repeat(1_000)] {
            sources.add(source);
        }
        assert_eq!((sources.first.as_str(), sources.count()), ("Mines", 3));
        let mut long = Sources::default();
        long.add(&"é".repeat(1_000));
        assert_eq!(long.first, "é".repeat(LONGEST));
    }
}
