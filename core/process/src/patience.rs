//! How long another program may take to answer.

use std::time::{Duration, Instant};

/// A limit on the time that another program takes, which is waited for in steps. Of a wait that took longer than its step,
/// only the step counts: this program stood still meanwhile, as when it is stopped or the machine stalls, and the other one
/// may have done so too.
#[derive(Debug)]
pub struct Patience {
    left: Duration,
    /// Until when the time is counted.
    counted: Instant,
}

impl Patience {
    /// The longest single wait.
    pub const STEP: Duration = Duration::from_millis(100);

    /// The whole of a limit, from now on.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            left: limit,
            counted: Instant::now(),
        }
    }

    /// Waits once more, for as long as `wait` is given and no longer. The time since the last wait counts in full. `None`:
    /// the limit is reached, and nothing is waited for.
    pub fn wait<T>(&mut self, wait: impl FnOnce(Duration) -> T) -> Option<T> {
        let began = Instant::now();
        self.spend(began.saturating_duration_since(self.counted));
        self.counted = began;
        if self.left.is_zero() {
            return None;
        }
        let step = self.left.min(Self::STEP);
        let waited = wait(step);
        self.counted = Instant::now();
        let took = self.counted.saturating_duration_since(began);
        self.spend(took.min(step));
        Some(waited)
    }

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);
    const STEP: Duration = Patience::STEP;

    #[test]
    fn a_program_that_stood_still_waits_on() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT);
        let slept = patience.wait(|_| {
            let began = Instant::now();
            sleep(LIMIT + STEP);
            began.elapsed()
        });
        // The time beside the wait counts in full.
        let beside = began.elapsed() - slept.unwrap();
        let left = patience.left + STEP;
        assert!(left <= LIMIT, "{patience:?}");
        assert!(left + beside >= LIMIT, "{patience:?}, {beside:?}");
    }

    #[test]
    fn waits_reach_the_limit_together() {
        let mut patience = Patience::new(LIMIT);
        let began = Instant::now();
        let mut count = 0;
        while patience.wait(sleep).is_some() {
            count += 1;
        }
        assert!(count <= 20, "{count}");
        // In few waits if this program stood still between them.
        assert!(began.elapsed() >= LIMIT - STEP);
    }

    #[test]
    fn time_between_waits_counts_in_full() {
        let mut patience = Patience::new(LIMIT);
        sleep(LIMIT);
        assert!(patience.wait(|_| ()).is_none());
    }
}
