//! Waiting until the next picture is due.

use std::time::Duration;

use flowpipe_plugin::{Cancel, Error, Host, Result};

/// The longest sleep at a time: how late a cancellation can be noticed.
const STEP_NS: i64 = 5_000_000;

/// A steady rate by the host's clock. Who comes late goes on from there instead of catching up.
pub struct Pace {
    interval_ns: i64,
    due_ns: Option<i64>,
}

impl Pace {
    /// So many times a second; `None`: no waiting.
    pub fn new(fps: Option<f64>) -> Self {
        Self {
            interval_ns: fps.map_or(0, |fps| (1e9 / fps) as i64),
            due_ns: None,
        }
    }

    /// Waits until it is time. The first time always is.
    ///
    /// # Errors
    /// [`Error::cancelled`].
    pub fn wait(&mut self, host: Host, cancel: Cancel<'_>) -> Result<()> {
        loop {
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            match self.missing(host.now_ns()) {
                None => return Ok(()),
                Some(nanoseconds) => std::thread::sleep(Duration::from_nanos(nanoseconds)),
            }
        }
    }

    /// How long to sleep before asking again; `None`: it is time, and the next time is set.
    fn missing(&mut self, now_ns: i64) -> Option<u64> {
        let due_ns = self.due_ns.unwrap_or(now_ns);
        if now_ns < due_ns {
            return Some((due_ns - now_ns).min(STEP_NS).unsigned_abs());
        }
        let next_ns = due_ns.saturating_add(self.interval_ns);
        self.due_ns = Some(next_ns.max(now_ns));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_steady_rate() {
        let mut pace = Pace::new(Some(100.0));
        assert_eq!(pace.missing(1_000), None);
        assert_eq!(pace.missing(1_000), Some(5_000_000));
        assert_eq!(pace.missing(10_000_000), Some(1_000));
        assert_eq!(pace.missing(10_001_500), None);
        // Half a microsecond late: the one after is due as if it had not been.
        assert_eq!(pace.missing(20_000_500), Some(500));
        // Far too late: no burst.
        assert_eq!(pace.missing(90_000_000), None);
        assert_eq!(pace.missing(90_000_000), None);
        assert_eq!(pace.missing(90_000_000), Some(5_000_000));
    }

    #[test]
    fn no_rate_is_no_waiting() {
        let mut pace = Pace::new(None);
        assert_eq!([1, 1, 2].map(|now| pace.missing(now)), [None; 3]);
    }
}
