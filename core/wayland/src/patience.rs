//! How long a compositor may take to answer.

use std::time::{Duration, Instant};

/// The longest single wait.
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// A limit on the time that a compositor takes, which is waited for in steps. Of a wait that took longer than its step, only
/// the step counts: this program stood still meanwhile, as when it is stopped or the machine stalls, and the compositor may
/// have done so too.
#[derive(Debug)]
pub struct Patience {
    left: Duration,
    /// Until when the time is counted.
    counted: Instant,
}

impl Patience {
    /// How long a compositor may take.
    pub const LIMIT: Duration = Duration::from_secs(2);

    /// The whole of [`Patience::LIMIT`], from now on.
    #[must_use]
    pub fn new() -> Self {
        Self {
            left: Self::LIMIT,
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
        let step = self.left.min(STEP);
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

impl Default for Patience {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn a_program_that_stood_still_waits_on() {
        let mut patience = Patience::new();
        let stall = Patience::LIMIT + STEP;
        assert!(patience.wait(|_| sleep(stall)).is_some());
        // Less than a step was spent beside it.
        let most = Patience::LIMIT - STEP;
        assert!(patience.left <= most, "{patience:?}");
        assert!(
            patience.left > most - Duration::from_secs(1),
            "{patience:?}"
        );
    }

    #[test]
    fn waits_reach_the_limit_together() {
        let mut patience = Patience::new();
        let began = Instant::now();
        let mut count = 0;
        while patience.wait(sleep).is_some() {
            count += 1;
        }
        assert!(count <= 20, "{count}");
        // In few waits if this program stood still between them.
        assert!(began.elapsed() >= Patience::LIMIT - STEP);
    }

    #[test]
    fn time_between_waits_counts_in_full() {
        let mut patience = Patience::new();
        sleep(Patience::LIMIT);
        assert!(patience.wait(|_| ()).is_none());
    }
}
