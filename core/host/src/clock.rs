//! The run's clock. Plugins read the time from it alone.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the run began, never going back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Moment,
    start_unix_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: Moment::now(),
            // A clock set before 1970 counts as 1970.
            start_unix_ns: unix.map_or(0, |unix| unix.as_nanos() as u64),
        }
    }

    /// Unix time of the start in nanoseconds, as the system's clock showed it.
    #[must_use]
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.began.elapsed()
    }

    /// This clock, set ahead by so many nanoseconds: as if it had started earlier.
    #[must_use]
    pub fn set_ahead(self, by_ns: i64) -> Self {
        Self {
            began: self.began.earlier(by_ns),
            start_unix_ns: self
                .start_unix_ns
                .saturating_add_signed(by_ns.saturating_neg()),
        }
    }
}

#[cfg(unix)]
impl Clock {
    /// When it started, by the system's monotonic clock, which all processes share.
    pub fn began_ns(&self) -> i64 {
        self.began.0
    }

    /// The clock of another process.
    pub fn started_at(began_ns: i64) -> Self {
        Self {
            began: Moment(began_ns),
            start_unix_ns: 0,
        }
    }
}

/// A moment, by the system's monotonic clock in nanoseconds.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
struct Moment(i64);

#[cfg(unix)]
impl Moment {
    fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        // 2^63 nanoseconds are 292 years.
        Self(now.tv_sec.saturating_mul(1_000_000_000) + now.tv_nsec)
    }

    fn elapsed(self) -> i64 {
        Self::now().0.saturating_sub(self.0)
    }

    fn earlier(self, by_ns: i64) -> Self {
        Self(self.0.saturating_sub(by_ns))
    }
}

#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
struct Moment(std::time::Instant);

#[cfg(not(unix))]
impl Moment {
    fn now() -> Self {
        Self(std::time::Instant::now())
    }

    fn elapsed(self) -> i64 {
        // 2^63 nanoseconds are 292 years.
        i64::try_from(self.0.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    fn earlier(self, by_ns: i64) -> Self {
        let by = std::time::Duration::from_nanos(by_ns.unsigned_abs());
        let moved = match by_ns < 0 {
            true => self.0.checked_add(by),
            false => self.0.checked_sub(by),
        };
        Self(moved.unwrap_or(self.0))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_ahead_has_started_earlier() {
        let clock = Clock::start();
        for by_ns in [5_000_000_000, -5_000_000_000] {
            let other = clock.set_ahead(by_ns);
            let before = clock.now() + by_ns;
            assert!((before..=before + 1_000_000_000).contains(&other.now()));
            let unix = clock.start_unix_ns() as i64 - by_ns;
            assert_eq!(other.start_unix_ns() as i64, unix);
        }
    }
}
