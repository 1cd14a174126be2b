//! Waiting until the next picture is due.

/// A steady rate by the host's clock. A late caller continues from there instead of catching up.
pub struct Pace {
    interval_ns: i64,
    due_ns: Option<i64>,
}

impl Pace {
    /// A number of times per second; `None`: no waiting.
    pub fn new(fps: Option<f64>) -> Self {
        Self {
            interval_ns: fps.map_or(0, |fps| (1e9 / fps) as i64),
            due_ns: None,
        }
    }

    /// When the next picture is due, asked at the time `now_ns`; `None`: at once. The first always is.
    pub fn next(&mut self, now_ns: i64) -> Option<i64> {
        let due_ns = self.due_ns.unwrap_or(now_ns).max(now_ns);
        self.due_ns = Some(due_ns.saturating_add(self.interval_ns));
        (due_ns > now_ns).then_some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_steady_rate() {
        let mut pace = Pace::new(Some(100.0));
        assert_eq!(pace.next(1_000), None);
        assert_eq!(pace.next(1_000), Some(10_001_000));
        // Half a microsecond late: the one after is due that much later, and no burst follows.
        assert_eq!(pace.next(20_001_500), None);
        assert_eq!(pace.next(20_001_500), Some(30_001_500));
        assert_eq!(pace.next(90_000_000), None);
        assert_eq!(pace.next(90_000_000), Some(100_000_000));
    }

    #[test]
    fn no_rate_is_no_waiting() {
        let mut pace = Pace::new(None);
        assert_eq!([1, 1, 2].map(|now| pace.next(now)), [None; 3]);
    }
}
