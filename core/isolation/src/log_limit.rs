//! A bound on what a stage's process logs: a stage that logs without end fills no disk.

use std::time::{Duration, Instant};

/// The lines that are logged at once.
const BURST: u32 = 1024;
/// After them, one line in each interval.
const INTERVAL: Duration = Duration::from_millis(1);

/// Decides which lines are logged.
#[derive(Debug)]
pub(crate) struct LogLimit {
    /// How many more lines are logged at once.
    left: u32,
    /// Up to when `left` has been increased.
    counted: Instant,
    dropped: u64,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLine {
    /// It is logged, after a notice of this many lines that were dropped.
    Logged { dropped: u64 },
    /// It is dropped, and counted.
    Dropped,
}

impl LogLimit {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            counted: now,
            dropped: 0,
        }
    }

    /// Takes a line.
    pub(crate) fn line(&mut self, now: Instant) -> LogLine {
        let elapsed = now.saturating_duration_since(self.counted);
        let more = elapsed.as_nanos() / INTERVAL.as_nanos();
        let more = u32::try_from(more).unwrap_or(BURST).min(BURST);
        if more > 0 {
            self.left = self.left.saturating_add(more).min(BURST);
            self.counted = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                LogLine::Logged {
                    dropped: std::mem::take(&mut self.dropped),
                }
            }
            None => {
                self.dropped += 1;
                LogLine::Dropped
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_rate_are_dropped_and_counted() {
        let start = Instant::now();
        let mut limit = LogLimit::new(start);
        let logged = (0..2 * BURST).filter(|_| limit.line(start) != LogLine::Dropped);
        assert_eq!(logged.count(), BURST as usize);
        let later = start + INTERVAL;
        assert_eq!(
            limit.line(later),
            LogLine::Logged {
                dropped: u64::from(BURST)
            }
        );
        assert_eq!(limit.line(later), LogLine::Dropped);
    }

    #[test]
    fn a_stage_that_logs_now_and_then_loses_nothing() {
        let start = Instant::now();
        let mut limit = LogLimit::new(start);
        for second in 0..100 {
            for _ in 0..900 {
                let line = limit.line(start + Duration::from_secs(second));
                assert_eq!(line, LogLine::Logged { dropped: 0 });
            }
        }
    }
}
