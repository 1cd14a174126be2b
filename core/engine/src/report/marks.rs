//! The time from a frame's capture to its first mark of each name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use flowpipe_host::message::Origin;
use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};

use crate::report::times::{Distribution, DurationBuckets, Times};

/// The time from capture to mark.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MarkReport {
    /// One duration per frame.
    #[serde(flatten)]
    pub time: Distribution,
}

/// All marks of a run.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<MarksByName>);

#[derive(Debug, Default)]
struct MarksByName {
    marks: BTreeMap<String, Mark>,
    /// Whether a mark was left out because there are too many names.
    is_full: bool,
}

#[derive(Debug, Default)]
struct Mark {
    times: Times,
    /// Frames with this mark: capturing stage and sequence.
    seen: BTreeSet<(usize, u64)>,
}

/// The number of frames remembered for each name. Later marks of older frames count again, which happens only when a
/// stage is that many frames behind another.
const REMEMBERED: usize = 4096;

/// The most names of a run: each takes some hundred kilobytes. Marks of further names are not in the report.
const MOST_NAMES: usize = 64;

impl Marks {
    pub(crate) fn note(&self, name: &str, origin: Origin, now: i64) {
        let mut names = lock(&self.0);
        let MarksByName { marks, is_full } = &mut *names;
        let count = marks.len();
        let mark = match marks.get_mut(name) {
            Some(mark) => mark,
            None if count < MOST_NAMES => marks.entry(name.to_owned()).or_default(),
            None => {
                if !std::mem::replace(is_full, true) {
                    tracing::warn!(
                        "the plugins use more than {MOST_NAMES} names of marks: \
                         the report leaves out \"{name}\" and all further ones"
                    );
                }
                return;
            }
        };
        if mark.seen.insert((origin.stage, origin.sequence)) {
            mark.times
                .note(u64::try_from(now.saturating_sub(origin.captured_ns)).unwrap_or(0));
            if mark.seen.len() > REMEMBERED {
                mark.seen.pop_first();
            }
        }
    }

    pub(crate) fn buckets(&self) -> BTreeMap<String, DurationBuckets> {
        let names = lock(&self.0);
        let marks = names.marks.iter();
        marks
            .map(|(name, mark)| (name.clone(), mark.times.buckets()))
            .collect()
    }

    pub(crate) fn report(&self) -> BTreeMap<String, MarkReport> {
        let names = lock(&self.0);
        names
            .marks
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

    #[test]
    fn the_names_of_a_run_are_limited() {
        let marks = Marks::default();
        let frame = Origin {
            stage: 0,
            sequence: 1,
            captured_ns: 0,
        };
        for number in 0..1000 {
            marks.note(&format!("{number:04}"), frame, 1);
        }
        let names: Vec<_> = marks.report().into_keys().collect();
        let first: Vec<_> = (0..MOST_NAMES).map(|it| format!("{it:04}")).collect();
        assert_eq!(names, first);
    }

    #[test]
    fn no_time_overflows() {
        let marks = Marks::default();
        let frame = |captured_ns| Origin {
            stage: 0,
            sequence: captured_ns as u64,
            captured_ns,
        };
        marks.note("action", frame(i64::MIN), i64::MAX);
        marks.note("action", frame(i64::MAX), i64::MIN);
        let time = marks.report()["action"].time;
        assert_eq!((time.count, time.max_ns), (2, i64::MAX as u64));
    }
}
