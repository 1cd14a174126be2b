//! Counts the messages that found no partner, by input and reason.

use flowpipe_plugin::message::{Metric, Metrics};
use serde::{Deserialize, Serialize};

/// Why a message has no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Others came behind it, and too many waited.
    TooMany,
    /// It has no key.
    NoKey,
    /// The streams have ended.
    Ended,
}

/// The reasons as they are reported, in their order.
const REASONS: [&str; 3] = ["too many waited", "no key", "no partner came"];
/// How many messages are counted before they are reported.
const REPORTED_AT_ONCE: u64 = 100;

/// What is not reported yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Unpaired {
    left: [u64; REASONS.len()],
    right: [u64; REASONS.len()],
    /// Whether there was a report.
    has_reported: bool,
}

impl Unpaired {
    /// Counts messages of the input `left`, or of `right`.
    pub fn add(&mut self, is_left: bool, reason: Reason, count: usize) {
        let of_input = match is_left {
            true => &mut self.left,
            false => &mut self.right,
        };
        if let Some(counted) = of_input.get_mut(reason as usize) {
            *counted = counted.saturating_add(count as u64);
        }
    }

    /// What is to be reported now, if anything: the first messages at once, and then several at a time.
    pub fn take_due(&mut self) -> Option<Metrics> {
        let all = self.left.iter().chain(&self.right);
        let waiting = all.fold(0, |sum: u64, count| sum.saturating_add(*count));
        let is_due = waiting >= REPORTED_AT_ONCE || !self.has_reported;
        if is_due { self.take() } else { None }
    }

    /// All that is not reported yet, if there is anything.
    pub fn take(&mut self) -> Option<Metrics> {
        let inputs = [("left", self.left), ("right", self.right)];
        let counters = inputs.iter().flat_map(|(input, counts)| {
            let counts = REASONS.iter().zip(counts).filter(|(_, count)| **count > 0);
            counts.map(move |(reason, count)| {
                Metric::counter(format!("{input} without a pair: {reason}"), *count)
            })
        });
        let counters: Vec<_> = counters.collect();
        if counters.is_empty() {
            return None;
        }
        *self = Self {
            has_reported: true,
            ..Self::default()
        };
        Some(Metrics::new(counters))
    }
}
