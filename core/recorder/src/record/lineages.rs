//! Which lineages the recorder has dropped: everything that descends from one message of a source.

use std::collections::{BTreeMap, HashMap};

use flowpipe_config::pipeline::PortRef;
use flowpipe_recording::Topic;
use flowpipe_recording::entry::DroppedLineages;

/// A message: its output and its number there.
pub(crate) type Key = (PortRef, u64);

/// What was dropped so far.
#[derive(Debug, Default)]
pub(crate) struct Lineages {
    /// Messages that are not in the recording.
    messages: HashMap<PortRef, Numbers>,
    /// The first messages of lineages of which nothing more is recorded.
    cut: HashMap<PortRef, Numbers>,
    /// What no entry says yet.
    untold: Vec<DroppedLineages>,
    /// How many lineages, and messages in them.
    pub counts: (u64, u64),
}

impl Lineages {
    /// Whether a message is not in the recording.
    pub(crate) fn has_dropped(&self, message: Key) -> bool {
        contains(&self.messages, message)
    }

    /// Whether nothing more of a lineage is recorded.
    pub(crate) fn is_gone(&self, root: Key) -> bool {
        contains(&self.messages, root) || contains(&self.cut, root)
    }

    /// A message is not recorded.
    pub(crate) fn drop_message(&mut self, message: Key) {
        self.counts.1 += 1;
        let numbers = self.messages.entry(message.0).or_default();
        numbers.insert(message.1);
    }

    /// A lineage is not recorded from here on. `partly`: its beginning is.
    pub(crate) fn drop_lineage(&mut self, root: Key, topic: &Topic, partly: bool, at_ns: i64) {
        self.counts.0 += 1;
        self.cut.entry(root.0).or_default().insert(root.1);
        let number = root.1;
        let follows = |it: &&mut DroppedLineages| {
            let is_of = it.stage == topic.stage && it.port == topic.port && it.partly == partly;
            is_of && it.last + 1 == number
        };
        if let Some(known) = self.untold.iter_mut().rev().find(follows) {
            known.last = number;
            known.until_ns = at_ns;
            return;
        }
        self.untold.push(DroppedLineages {
            stage: topic.stage.clone(),
            port: topic.port.clone(),
            first: number,
            last: number,
            partly,
            at_ns,
            until_ns: at_ns,
        });
    }

    /// What is to be said in the recording of what was dropped since the last time.
    pub(crate) fn take_untold(&mut self) -> Vec<DroppedLineages> {
        std::mem::take(&mut self.untold)
    }
}

fn contains(of: &HashMap<PortRef, Numbers>, message: Key) -> bool {
    of.get(&message.0)
        .is_some_and(|numbers| numbers.contains(message.1))
}

/// A set of numbers, most of which follow each other: the last of each range by its first.
#[derive(Debug, Default)]
struct Numbers(BTreeMap<u64, u64>);

/// So many ranges are told apart. What lies between the oldest ones ended long ago.
const MOST_RANGES: usize = 100_000;

impl Numbers {
    fn contains(&self, number: u64) -> bool {
        let range = self.0.range(..=number).next_back();
        range.is_some_and(|(_, last)| number <= *last)
    }

    fn insert(&mut self, number: u64) {
        if self.contains(number) {
            return;
        }
        let last = self.0.remove(&(number + 1)).unwrap_or(number);
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_ranges() {
        let mut numbers = Numbers::default();
        for number in [5, 1, 3, 4, 9, 2, 4] {
            numbers.insert(number);
        }
        assert_eq!(numbers.0, BTreeMap::from([(1, 5), (9, 9)]));
        let has: Vec<_> = (0..=10).filter(|&it| numbers.contains(it)).collect();
        assert_eq!(has, [1, 2, 3, 4, 5, 9]);
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
