//! The times that a stage reads: from the run's clock, recorded, or replayed from a recording.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// The most times of one call that are recorded. A stage may read the clock in its innermost loop.
pub const MOST_TIMES: usize = 100_000;

/// Where a stage's times come from.
#[derive(Debug, Default)]
pub enum StageClock {
    /// The run's clock.
    #[default]
    Run,
    /// The run's clock; each time is recorded, but not more than [`MOST_TIMES`] of a call.
    Recording(Mutex<Vec<i64>>),
    /// A recording; past its end the last time is repeated.
    Replaying(Mutex<Replayed>),
    /// Each reading is a microsecond later than the one before: for tests of determinism.
    Stepping(AtomicI64),
    /// As [`StageClock::Stepping`]. A wait takes no time: it advances the clock to its end. For tests of pipelines.
    Simulated(AtomicI64),
}

/// The latest end of a wait to which a clock advances, in nanoseconds: times can be added to it.
const LATEST_NS: i64 = i64::MAX / 2;

/// The recorded times that are not read yet.
#[derive(Debug, Default)]
pub struct Replayed {
    left: VecDeque<i64>,
    last: i64,
    /// The times are new, and the stage's process does not have them yet.
    is_new: bool,
}

/// The state of a stage's clock at the start of the stage's process.
#[derive(Debug, Serialize, Deserialize)]
pub enum ClockSource {
    /// As [`StageClock::Run`].
    Run,
    /// As [`StageClock::Recording`].
    Recording,
    /// As [`StageClock::Replaying`]: these times, and then the last one.
    Replaying(Vec<i64>, i64),
}

impl StageClock {
    /// A clock that starts with the times that were read while the stage was created and in its first call.
    #[must_use]
    pub fn replaying(first: &[i64]) -> Self {
        Self::Replaying(Mutex::new(Replayed {
            left: first.iter().copied().collect(),
            ..Replayed::default()
        }))
    }

    /// The time that the stage reads now.
    pub fn read(&self, clock: &Clock) -> i64 {
        match self {
            Self::Run => clock.now(),
            Self::Recording(times) => {
                let mut times = lock(times);
                let now = clock.now();
                if times.len() < MOST_TIMES {
                    times.push(now);
                }
                now
            }
            Self::Replaying(replayed) => {
                let mut replayed = lock(replayed);
                if let Some(next) = replayed.left.pop_front() {
                    replayed.last = next;
                }
                replayed.last
            }
            Self::Stepping(time) | Self::Simulated(time) => {
                time.fetch_add(1_000, Ordering::Relaxed)
            }
        }
    }

    /// Whether a wait until that time, in nanoseconds, is over at once.
    pub(crate) fn skips_wait(&self, deadline_ns: i64) -> bool {
        let is_simulated = matches!(self, Self::Simulated(_));
        if is_simulated {
            self.skip_to(deadline_ns.min(LATEST_NS));
        }
        is_simulated
    }

    /// Advances a stepping or simulated clock to at least `time`. Returns the time of the next reading.
    pub fn skip_to(&self, time: i64) -> i64 {
        match self {
            Self::Stepping(next) | Self::Simulated(next) => {
                next.fetch_max(time, Ordering::Relaxed).max(time)
            }
            Self::Run | Self::Recording(_) | Self::Replaying(_) => time,
        }
    }

    /// Takes the times recorded since the last call.
    pub fn take(&self) -> Vec<i64> {
        match self {
            Self::Recording(times) => std::mem::take(&mut *lock(times)),
            Self::Run | Self::Replaying(_) | Self::Stepping(_) | Self::Simulated(_) => Vec::new(),
        }
    }

    /// Replaces the times that the stage reads next; `from` is when that call started.
    pub fn load(&self, times: &[i64], from: i64) {
        if let Self::Replaying(replayed) = self {
            *lock(replayed) = Replayed {
                left: times.iter().copied().collect(),
                last: from,
                is_new: true,
            };
        }
    }
}

/// For a stage in its own process, which reads the time there.
impl StageClock {
    /// The clock in that process.
    #[must_use]
    pub fn from_source(source: &ClockSource) -> Self {
        match source {
            ClockSource::Run => Self::Run,
            ClockSource::Recording => Self::Recording(Mutex::default()),
            ClockSource::Replaying(times, last) => Self::Replaying(Mutex::new(Replayed {
                left: times.iter().copied().collect(),
                last: *last,
                is_new: false,
            })),
        }
    }

    /// The state that the process starts with.
    pub fn source(&self) -> ClockSource {
        match self {
            // Trials and tests are in this process.
            Self::Run | Self::Stepping(_) | Self::Simulated(_) => ClockSource::Run,
            Self::Recording(_) => ClockSource::Recording,
            Self::Replaying(replayed) => {
                let replayed = lock(replayed);
                ClockSource::Replaying(replayed.left.iter().copied().collect(), replayed.last)
            }
        }
    }

    /// The times for the process to read from now on, if some were loaded since the last call.
    pub fn take_loaded(&self) -> Option<(Vec<i64>, i64)> {
        let Self::Replaying(replayed) = self else {
            return None;
        };
        let mut replayed = lock(replayed);
        std::mem::take(&mut replayed.is_new)
            .then(|| (replayed.left.iter().copied().collect(), replayed.last))
    }

    /// Records the times that the process has read.
    pub fn add(&self, times: Vec<i64>) {
        if let Self::Recording(recorded) = self {
            let mut recorded = lock(recorded);
            let room = MOST_TIMES.saturating_sub(recorded.len());
            recorded.extend(times.into_iter().take(room));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_repeats_the_recorded_times() {
        let clock = Clock::start();
        let recording = StageClock::Recording(Mutex::default());
        let times = [recording.read(&clock), recording.read(&clock)];
        let recorded = recording.take();
        assert_eq!(recorded, times);
        assert!(recording.take().is_empty());

        let again = StageClock::replaying(&recorded);
        assert_eq!([again.read(&clock), again.read(&clock)], times);
        assert_eq!(
            again.read(&clock),
            times[1],
            "past the end the last time is repeated"
        );
        again.load(&[], 7);
        assert_eq!(again.read(&clock), 7);
    }

    #[test]
    fn a_simulated_clock_advances_to_the_end_of_a_wait() {
        let clock = Clock::start();
        let simulated = StageClock::Simulated(0.into());
        assert_eq!(simulated.read(&clock), 0);
        assert!(simulated.skips_wait(3_000_000));
        assert!(simulated.skips_wait(5), "this time is over");
        assert_eq!(
            [simulated.read(&clock), simulated.read(&clock)],
            [3_000_000, 3_001_000]
        );
        assert!(simulated.skips_wait(i64::MAX));
        assert_eq!(simulated.read(&clock), LATEST_NS);
        for other in [StageClock::Run, StageClock::Stepping(0.into())] {
            assert!(!other.skips_wait(5));
        }
    }

    #[test]
    fn the_recorded_times_of_a_call_are_bounded() {
        let clock = Clock::start();
        let recording = StageClock::Recording(Mutex::default());
        for _ in 0..MOST_TIMES + 10 {
            recording.read(&clock);
        }
        recording.add(vec![7; 10]);
        assert_eq!(recording.take().len(), MOST_TIMES);
        recording.add(vec![7; MOST_TIMES + 10]);
        assert_eq!(recording.take().len(), MOST_TIMES);
    }
}
