//! The time of a run in intervals of one length, for charts.

use flowpipe_recording::{Entry, Recording};

/// How many intervals a chart has.
pub const INTERVALS: usize = 120;

/// The intervals of a run, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    ends_ns: i64,
}

impl Intervals {
    /// Those of a run that ended then, in nanoseconds of its clock.
    pub fn until(ends_ns: i64) -> Self {
        Self {
            ends_ns: ends_ns.max(1),
        }
    }

    /// The interval of a time. What lies outside of the run belongs to the first or the last one.
    pub fn place(self, at_ns: i64) -> usize {
        let at = i128::from(at_ns.clamp(0, self.ends_ns));
        let place = at * INTERVALS as i128 / i128::from(self.ends_ns);
        (place as usize).min(INTERVALS - 1)
    }
}

/// The run's clock at the end of what is recorded, nanoseconds.
pub fn ends_ns(recording: &Recording) -> i64 {
    let ends = recording.entries().iter().map(|entry| match entry {
        Entry::Message(message) => message.at_ns(),
        Entry::Call(call) => call.ended_ns,
        Entry::Dropped(dropped) => dropped.at_ns,
        Entry::Problem(problem) => problem.at_ns,
    });
    ends.max().unwrap_or(0).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_an_interval() {
        let intervals = Intervals::until(1_200);
        for (at, place) in [(i64::MIN, 0), (0, 0), (9, 0), (10, 1), (1_199, 119)] {
            assert_eq!(intervals.place(at), place, "{at}");
        }
        assert_eq!(intervals.place(1_200), 119);
        assert_eq!(intervals.place(i64::MAX), 119);
        assert_eq!(Intervals::until(0).place(0), 0);
        assert_eq!(Intervals::until(i64::MAX).place(i64::MAX), 119);
    }
}
