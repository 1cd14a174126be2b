//! Ranges of numbered messages.

use std::collections::BTreeMap;

/// Takes the entries from one number to another one. They are mostly the first ones.
pub(crate) fn take_range<T>(from: &mut BTreeMap<u64, T>, first: u64, last: u64) -> Vec<(u64, T)> {
    let numbers: Vec<u64> = from
        .range(first..=last.max(first))
        .map(|(number, _)| *number)
        .collect();
    let take = |number: u64| Some((number, from.remove(&number)?));
    numbers.into_iter().filter_map(take).collect()
}
