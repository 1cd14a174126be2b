//! How many lines are printed of what another machine can cause again and again.

use std::time::{Duration, Instant};

/// The most lines at once.
const MOST: u64 = 20;
/// After how long there may be one more.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines that may still be printed: at most 20 at once, and one more every 10 s.
pub(super) struct LineBudget {
    left: u64,
    /// From when on the time counts for the next one.
    since: Instant,
    withheld: u64,
}

impl LineBudget {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            left: MOST,
            since: now,
            withheld: 0,
        }
    }

    /// Whether a line may be printed now: how many were not since the last one.
    pub(super) fn spend(&mut self, now: Instant) -> Option<u64> {
        while self.left < MOST && now.saturating_duration_since(self.since) >= INTERVAL {
            self.left += 1;
            self.since += INTERVAL;
        }
        if self.left == MOST {
            self.since = now;
        }
        if self.left == 0 {
            self.withheld += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.withheld))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_rarely_is_all_printed() {
        let mut now = Instant::now();
        let mut budget = LineBudget::new(now);
        for _ in 0..1_000 {
            now += INTERVAL;
            assert_eq!(budget.spend(now), Some(0));
        }
    }

    #[test]
    fn what_comes_often_is_printed_rarely_and_counted() {
        let mut now = Instant::now();
        let mut budget = LineBudget::new(now);
        let spent = (0..1_000).filter_map(|_| budget.spend(now)).count() as u64;
        assert_eq!(spent, MOST);
        now += INTERVAL;
        assert_eq!(budget.spend(now), Some(1_000 - MOST));
        assert_eq!(budget.spend(now), None);
        // After a long time there are not more at once than at first.
        now += 1_000 * INTERVAL;
        assert_eq!(budget.spend(now), Some(1));
        let spent = (0..1_000).filter_map(|_| budget.spend(now)).count() as u64;
        assert_eq!(spent, MOST - 1);
    }
}
