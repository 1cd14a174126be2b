//! The messages of another machine that workers here have: they are lost when that machine dies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use flowpipe_sync::lock;

/// The numbers of messages, by stage.
pub(crate) type HeldNumbers = BTreeMap<usize, BTreeSet<u64>>;

/// The last message of each instance.
#[derive(Debug, Default)]
pub(super) struct HeldMessages(Mutex<HashMap<u64, HeldMessage>>);

#[derive(Debug)]
struct HeldMessage {
    stage: usize,
    /// Its number at the input of the stage.
    sequence: u64,
    call: u64,
    /// The packet that reports that the call has returned.
    answer: Option<u64>,
}

impl HeldMessages {
    /// An instance of this stage gets a message in a call.
    pub(super) fn add(&self, instance: u64, stage: usize, sequence: u64, call: u64) {
        let message = HeldMessage {
            stage,
            sequence,
            call,
            answer: None,
        };
        lock(&self.0).insert(instance, message);
    }

    /// The packet of this number has reported that a call has returned. The next call of the instance may have begun.
    pub(super) fn answer(&self, instance: u64, call: u64, packet: u64) {
        let mut all = lock(&self.0);
        let message = all.get_mut(&instance).filter(|it| it.call == call);
        if let Some(message) = message {
            message.answer = Some(packet);
        }
    }

    /// The other machine needs the instance no more.
    pub(super) fn remove(&self, instance: u64) {
        lock(&self.0).remove(&instance);
    }

    /// What is not answered. `finished`: the other machine has finished all packets up to this number.
    pub(super) fn unanswered(&self, finished: u64) -> HeldNumbers {
        let mut numbers = HeldNumbers::new();
        for message in lock(&self.0).values() {
            if message.answer.is_none_or(|packet| packet > finished) {
                // The plugins of a race have the same one.
                let of_stage = numbers.entry(message.stage).or_default();
                of_stage.insert(message.sequence);
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_answer_that_the_other_machine_has_finished_is_unanswered() {
        let held = HeldMessages::default();
        // Two plugins that race, a worker of the same stage, and one of another stage.
        for (instance, stage, sequence) in [(1, 0, 57), (2, 0, 57), (3, 0, 59), (4, 2, 7)] {
            held.add(instance, stage, sequence, 1);
        }
        let (both, one) = (BTreeSet::from([57, 59]), BTreeSet::from([57]));
        let other = BTreeSet::from([7]);
        let all = HeldNumbers::from([(0, both), (2, other.clone())]);
        assert_eq!(held.unanswered(0), all);
        held.answer(3, 1, 5);
        held.answer(4, 1, 6);
        let left = HeldNumbers::from([(0, one), (2, other)]);
        assert_eq!(held.unanswered(5), left);
        held.remove(1);
        held.remove(2);
        assert_eq!(held.unanswered(6), HeldNumbers::new());
    }

    #[test]
    fn an_answer_to_the_call_before_answers_no_other_call() {
        let held = HeldMessages::default();
        held.add(1, 0, 57, 1);
        held.add(1, 0, 59, 2);
        held.answer(1, 1, 5);
        let left = HeldNumbers::from([(0, BTreeSet::from([59]))]);
        assert_eq!(held.unanswered(5), left);
    }
}
