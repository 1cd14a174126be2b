//! Messages that wait for their partner.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize, Serializer};

use crate::gathered::{Gathered, MOST_BYTES};

/// What a message is compared by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mark {
    /// The number of a frame.
    Frame(u64),
    /// A time, in nanoseconds.
    Time(i64),
    /// A key.
    Key(String),
}

impl Mark {
    fn bytes(&self) -> usize {
        match self {
            Self::Key(key) => key.len(),
            Self::Frame(_) | Self::Time(_) => 0,
        }
    }
}

/// The bodies of the messages of an input that wait, oldest first.
#[derive(Default, Deserialize)]
#[serde(from = "Gathered<Mark>")]
pub struct Waiting {
    /// By the number of each message.
    messages: BTreeMap<u64, (Mark, String)>,
    /// The numbers of the messages with each mark, oldest first.
    places: BTreeMap<Mark, VecDeque<u64>>,
    next: u64,
    /// Of the bodies and keys.
    bytes: usize,
}

impl Waiting {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Adds a message. The oldest ones are dropped beyond the limits: returns how many.
    pub fn push(&mut self, mark: Mark, body: String, most: usize) -> usize {
        self.bytes += mark.bytes() + body.len();
        self.places
            .entry(mark.clone())
            .or_default()
            .push_back(self.next);
        self.messages.insert(self.next, (mark, body));
        self.next += 1;
        let mut dropped = 0;
        while self.messages.len() > most || (self.bytes > MOST_BYTES && self.messages.len() > 1) {
            let Some((mark, _)) = self.messages.values().next() else {
                break;
            };
            let mark = mark.clone();
            self.take(&mark);
            dropped += 1;
        }
        dropped
    }

    /// Takes the oldest message with this mark.
    pub fn take(&mut self, mark: &Mark) -> Option<String> {
        let numbers = self.places.get_mut(mark)?;
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.places.remove(mark);
        }
        let (mark, body) = self.messages.remove(&number?)?;
        self.bytes -= mark.bytes() + body.len();
        Some(body)
    }

    /// Takes the message whose time is nearest to this one, of several the oldest, if it is not farther away than the
    /// tolerance. Both are in nanoseconds.
    pub fn take_nearest(&mut self, time_ns: i64, tolerance_ns: u64) -> Option<String> {
        let before = self.places.range(..=Mark::Time(time_ns)).next_back();
        let after = self.places.range(Mark::Time(time_ns)..).next();
        let distances = [before, after].into_iter().flatten();
        let distances = distances.filter_map(|(mark, numbers)| match mark {
            Mark::Time(other_ns) => Some((other_ns.abs_diff(time_ns), *numbers.front()?, mark)),
            _ => None,
        });
        let (apart_ns, _, mark) = distances.min()?;
        if apart_ns > tolerance_ns {
            return None;
        }
        let mark = mark.clone();
        self.take(&mark)
    }
}

impl From<Gathered<Mark>> for Waiting {
    fn from(gathered: Gathered<Mark>) -> Self {
        let mut waiting = Self::default();
        for (mark, body) in gathered.into_items() {
            waiting.push(mark, body, usize::MAX);
        }
        waiting
    }
}

/// As the messages, oldest first.
impl Serialize for Waiting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Messages<'a> {
            items: Vec<&'a (Mark, String)>,
        }
        let items = self.messages.values().collect();
        Messages { items }.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_too() {
        let mut waiting = Waiting::default();
        let key = |number: usize| Mark::Key(format!("{number:04000}"));
        for number in 0..20_000 {
            waiting.push(key(number), "1".to_owned(), 100_000);
        }
        assert!(waiting.bytes <= MOST_BYTES, "{}", waiting.bytes);
        assert_eq!(waiting.messages.len(), MOST_BYTES / 4_001);
        assert_eq!(waiting.places.len(), waiting.messages.len());
        // The oldest ones were dropped.
        assert_eq!(waiting.take(&key(0)), None);
        assert_eq!(waiting.take(&key(19_999)), Some("1".to_owned()));
        while let Some((mark, _)) = waiting.messages.values().next().cloned() {
            waiting.take(&mark).unwrap();
        }
        assert_eq!((waiting.bytes, waiting.places.len()), (0, 0));
    }

    #[test]
    fn the_nearest_time_is_taken_and_of_several_the_oldest() {
        let mut waiting = Waiting::default();
        for (time_ns, body) in [(30, "a"), (10, "b"), (30, "c"), (12, "d")] {
            waiting.push(Mark::Time(time_ns), body.to_owned(), 4);
        }
        assert_eq!(waiting.take_nearest(41, 10), None);
        // 30 and 12 are as near.
        for (time_ns, body) in [(21, "a"), (21, "c"), (40, "d"), (-90, "b")] {
            assert_eq!(waiting.take_nearest(time_ns, 100).unwrap(), body);
        }
        assert_eq!(waiting.take_nearest(0, 100), None);
    }
}
