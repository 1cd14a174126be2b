//! Sets of numbers that mostly follow each other.

use std::collections::BTreeMap;

/// A set of numbers as ranges: the first of each, and its last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds the numbers from `first` to `last`. Returns false, and adds none, if the set has one of them.
    pub(crate) fn insert(&mut self, first: u64, last: u64) -> bool {
        let before = self.0.range(..=last).next_back();
        let before = before.map(|(&start, &end)| (start, end));
        if first > last || before.is_some_and(|(_, end)| end >= first) {
            return false;
        }
        let start = match before {
            Some((start, end)) if end.checked_add(1) == Some(first) => start,
            _ => first,
        };
        let after = last.checked_add(1).and_then(|next| self.0.remove(&next));
        self.0.insert(start, after.unwrap_or(last));
        true
    }

    /// How many ranges there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Removes the lowest range and returns it.
    pub(crate) fn pop(&mut self) -> Option<(u64, u64)> {
        self.0.pop_first()
    }

    /// The ranges from 1 to `last` that are not in the set. No number of the set is above `last`.
    pub(crate) fn missing(&self, last: u64) -> Vec<(u64, u64)> {
        let mut next = 1;
        let mut gaps = Vec::new();
        for (&start, &end) in &self.0 {
            if next < start {
                gaps.push((next, start - 1));
            }
            next = end + 1;
        }
        if next <= last {
            gaps.push((next, last));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(inserted in vec((1u64..60, 0u64..5), 0..40)) {
            let (mut ranges, mut numbers) = (Ranges::default(), BTreeSet::new());
            for (first, more) in inserted {
                let new: BTreeSet<u64> = (first..=first + more).collect();
                prop_assert_eq!(ranges.insert(first, first + more), numbers.is_disjoint(&new));
                if numbers.is_disjoint(&new) {
                    numbers.extend(new);
                }
            }
            let missing = ranges.missing(70).into_iter().flat_map(|(first, last)| first..=last);
            let missing: BTreeSet<u64> = missing.collect();
            let expected: BTreeSet<u64> = (1..=70).filter(|it| !numbers.contains(it)).collect();
            prop_assert_eq!(missing, expected);
            let mut before = 0;
            while let Some((first, last)) = ranges.pop() {
                // Ranges that touch are one.
                prop_assert!(first > before + u64::from(before > 0) && last >= first);
                before = last;
                prop_assert!((first..=last).all(|it| numbers.remove(&it)));
            }
            prop_assert!(numbers.is_empty());
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut ranges = Ranges::default();
        assert!(!ranges.insert(2, 1));
        assert!(ranges.insert(u64::MAX, u64::MAX));
        assert!(ranges.insert(1, u64::MAX - 1) && !ranges.insert(u64::MAX, u64::MAX));
        assert_eq!(ranges.pop(), Some((1, u64::MAX)));
    }
}
