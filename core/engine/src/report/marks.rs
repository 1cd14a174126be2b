//! The time from a frame's capture to its first mark of each name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use flowpipe_host::message::Origin;
use flowpipe_sync::lock;
use serde::Serialize;

use crate::report::times::{Distribution, Times};

/// The time from capture to mark.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MarkReport {
    /// One duration per frame.
    #[serde(flatten)]
    pub time: Distribution,
}

/// All marks of a run.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<BTreeMap<String, Mark>>);

#[derive(Debug, Default)]
struct Mark {
    times: Times,
    /// Frames with this mark: capturing stage and sequence.
    seen: BTreeSet<(usize, u64)>,
}

/// The number of frames remembered for each name. Later marks of older frames count again, which happens only when a
/// stage is that many frames behind another.
const REMEMBERED: usize = 4096;

impl Marks {
    pub(crate) fn note(&self, name: &str, origin: Origin, now: i64) {
        let mut marks = lock(&self.0);
        let mark = match marks.get_mut(name) {
            Some(mark) => mark,
            None => marks.entry(name.to_owned()).or_default(),
        };
        if mark.seen.insert((origin.stage, origin.sequence)) {
            mark.times
                .note(u64::try_from(now - origin.captured_ns).unwrap_or(0));
            if mark.seen.len() > REMEMBERED {
                mark.seen.pop_first();
            }
        }
    }

    pub(crate) fn report(&self) -> BTreeMap<String, MarkReport> {
        let marks = lock(&self.0);
        marks
            .iter()
            .map(|(name, mark)| {
                (
                    name.clone(),
                    MarkReport {
                        time: mark.times.distribution(),
                    },
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_of_a_frame_counts() {
        let marks = Marks::default();
        let frame = |sequence| Origin {
            stage: 0,
            sequence,
            captured_ns: 100,
        };
        marks.note("action", frame(1), 150);
        marks.note("action", frame(1), 900);
        marks.note("action", frame(2), 200);
        let time = marks.report()["action"].time;
        assert_eq!((time.count, time.total_ns, time.max_ns), (2, 150, 100));
    }
}
