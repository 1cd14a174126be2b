//! Sets of the numbers of messages.

use std::collections::BTreeMap;

/// A set of mostly consecutive numbers: the end of each range by its start.
#[derive(Debug, Default)]
pub struct Numbers(BTreeMap<u64, u64>);

/// The most ranges. Beyond that the oldest two are merged: what was between them ended long ago.
const MOST_RANGES: usize = 100_000;

impl Numbers {
    /// Whether a number is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let range = self.0.range(..=number).next_back();
        range.is_some_and(|(_, last)| number <= *last)
    }

    /// Adds a number. Returns whether the set did not contain it.
    pub fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let next = number.checked_add(1);
        let last = next.and_then(|next| self.0.remove(&next));
        let last = last.unwrap_or(number);
        match self.0.range_mut(..number).next_back() {
            Some((_, before)) if *before + 1 == number => *before = last,
            _ => {
                self.0.insert(number, last);
            }
        }
        if self.0.len() > MOST_RANGES
            && let Some((first, _)) = self.0.pop_first()
            && let Some((_, last)) = self.0.pop_first()
        {
            self.0.insert(first, last);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_ranges() {
        let mut numbers = Numbers::default();
        let new = [5, 1, 3, 4, 9, 2, 4].map(|number| numbers.insert(number));
        assert_eq!(new, [true, true, true, true, true, true, false]);
        assert_eq!(numbers.0, BTreeMap::from([(1, 5), (9, 9)]));
        let has: Vec<_> = (0..=10).filter(|&it| numbers.contains(it)).collect();
        assert_eq!(has, [1, 2, 3, 4, 5, 9]);
        assert!(numbers.insert(u64::MAX) && !numbers.insert(u64::MAX));
        assert!(numbers.insert(u64::MAX - 1));
        assert_eq!(
            numbers.0.last_key_value(),
            Some((&(u64::MAX - 1), &u64::MAX))
        );
    }

    #[test]
    fn ranges_are_bounded() {
        let mut numbers = Numbers::default();
        for number in 0..=MOST_RANGES as u64 {
            numbers.insert(number * 2);
        }
        assert_eq!(numbers.0.len(), MOST_RANGES);
        assert!(numbers.contains(1), "between the two oldest");
        assert!(!numbers.contains(3));
    }
}
