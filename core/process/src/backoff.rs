//! The delay before a restart, which doubles with each failure in a row.

use std::time::Duration;

/// A delay that doubles up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl Backoff {
    /// The delay after this many failures in a row, of which there is at least one.
    #[must_use]
    pub fn delay(self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_its_bound() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(30),
        };
        let delays = [1, 2, 3, 9, 10, 40, u32::MAX].map(|count| backoff.delay(count).as_millis());
        assert_eq!(delays, [100, 200, 400, 25_600, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn no_delay_overflows_or_exceeds_the_longest() {
        let endless = Backoff {
            first: Duration::MAX,
            longest: Duration::MAX,
        };
        assert_eq!(endless.delay(u32::MAX), Duration::MAX);
        let longest = Duration::from_millis(10);
        assert_eq!(Backoff { longest, ..endless }.delay(1), longest);
        let first = Duration::ZERO;
        assert_eq!(Backoff { first, longest }.delay(9), Duration::ZERO);
    }
}
