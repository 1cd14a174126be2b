//! The run's clock, the only one that plugins take time from.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the run began, never going back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_unix_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            // A computer that takes itself for older than Unix begins there.
            start_unix_ns: unix.map_or(0, |unix| unix.as_nanos() as u64),
        }
    }

    /// Unix time of the start in nanoseconds, as the computer's clock told it then.
    #[must_use]
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn now(&self) -> i64 {
        // 2^63 nanoseconds are 292 years.
        i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}
