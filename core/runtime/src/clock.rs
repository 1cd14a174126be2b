//! The run's clock, the only one that plugins take time from.

use std::time::Instant;

/// Nanoseconds since the run began, never going back.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn now(&self) -> i64 {
        // 2^63 nanoseconds are 292 years.
        i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}
