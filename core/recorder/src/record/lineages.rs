//! The lineages that the recorder has dropped. A lineage is everything that descends from one message of a source.

use std::collections::{BTreeMap, HashMap};

use flowpipe_config::pipeline::PortRef;
use flowpipe_recording::Topic;
use flowpipe_recording::entry::DroppedLineages;

/// The key of a message: its output and sequence number.
pub(crate) type MessageKey = (PortRef, u64);

/// The dropped messages and lineages.
#[derive(Debug, Default)]
pub(crate) struct Lineages {
    /// Messages that are not in the recording.
    messages: HashMap<PortRef, Numbers>,
    /// The first messages of lineages that are not recorded any more.
    cut: HashMap<PortRef, Numbers>,
    /// Dropped lineages that are not written to the recording yet.
    pending: Vec<DroppedLineages>,
    /// The number of dropped lineages, and of messages in them.
    pub counts: (u64, u64),
}

impl Lineages {
    /// Whether a message is not in the recording.
    pub(crate) fn has_dropped(&self, message: MessageKey) -> bool {
        contains(&self.messages, message)
    }

    /// Whether a lineage is not recorded any more.
    pub(crate) fn is_gone(&self, root: MessageKey) -> bool {
        contains(&self.messages, root) || contains(&self.cut, root)
    }

    /// Notes that a message is not recorded.
    pub(crate) fn drop_message(&mut self, message: MessageKey) {
        self.counts.1 += 1;
        let numbers = self.messages.entry(message.0).or_default();
        numbers.insert(message.1);
    }

    /// Notes that a lineage is not recorded from here on. `partly`: its beginning is recorded.
    pub(crate) fn drop_lineage(
        &mut self,
        root: MessageKey,
        topic: &Topic,
        partly: bool,
        at_ns: i64,
    ) {
        self.counts.0 += 1;
        self.cut.entry(root.0).or_default().insert(root.1);
        let number = root.1;
        let follows = |it: &&mut DroppedLineages| {
            let is_of = it.stage == topic.stage && it.port == topic.port && it.partly == partly;
            is_of && it.last + 1 == number
        };
        if let Some(known) = self.pending.iter_mut().rev().find(follows) {
            known.last = number;
            known.until_ns = at_ns;
            return;
        }
        self.pending.push(DroppedLineages {
            stage: topic.stage.clone(),
            port: topic.port.clone(),
            first: number,
            last: number,
            partly,
            at_ns,
            until_ns: at_ns,
        });
    }

    /// Returns the lineages dropped since the last call, to be written to the recording.
    pub(crate) fn take_pending(&mut self) -> Vec<DroppedLineages> {
        std::mem::take(&mut self.pending)
    }
}

fn contains(of: &HashMap<PortRef, Numbers>, message: MessageKey) -> bool {
    of.get(&message.0)
        .is_some_and(|numbers| numbers.contains(message.1))
}

/// A set of mostly consecutive numbers: the end of each range by its start.
#[derive(Debug, Default)]
pub(crate) struct Numbers(BTreeMap<u64, u64>);

/// The most ranges. Beyond that the oldest two are merged: the lineages between them ended long ago.
const MOST_RANGES: usize = 100_000;

impl Numbers {
    pub(crate) fn contains(&self, number: u64) -> bool {
        let range = self.0.range(..=number).next_back();
        range.is_some_and(|(_, last)| number <= *last)
    }

    pub(crate) fn insert(&mut self, number: u64) {
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
