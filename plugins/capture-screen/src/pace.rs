//! When to look.

use flowpipe_plugin::{FrameSink, Result};

/// The longest wait in one call, so that the host can end the run between two.
const LONGEST_WAIT_NS: i64 = 10_000_000;

/// A steady rate by the host's clock. A late caller continues from there instead of catching up.
pub struct Pace {
    interval_ns: i64,
    due_ns: i64,
}

impl Pace {
    /// A number of captures per second, the first at once.
    pub fn new(rate: f64) -> Self {
        Self {
            interval_ns: (1e9 / rate) as i64,
            due_ns: i64::MIN,
        }
    }

    /// Waits until a capture is due, but not for long; whether it is due now.
    ///
    /// # Errors
    /// When the run ends meanwhile.
    pub fn wait(&mut self, sink: &mut FrameSink<'_, '_>) -> Result<bool> {
        let now = sink.host().now_ns();
        if now < self.due_ns {
            sink.wait_until(self.due_ns.min(now.saturating_add(LONGEST_WAIT_NS)))?;
        }
        Ok(self.is_due(sink.host().now_ns()))
    }

    fn is_due(&mut self, now_ns: i64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        let next_ns = self.due_ns.saturating_add(self.interval_ns);
        self.due_ns = if next_ns > now_ns {
            next_ns
        } else {
            now_ns.saturating_add(self.interval_ns)
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_steady_rate() {
        let mut pace = Pace::new(100.0);
        assert!(pace.is_due(1_000));
        assert!(!pace.is_due(10_000_999));
        // A little late: the one after is not.
        assert!(pace.is_due(10_500_000));
        assert!(!pace.is_due(20_000_999));
        assert!(pace.is_due(20_001_000));
        // Very late: no burst follows.
        assert!(pace.is_due(95_000_000));
        assert!(!pace.is_due(104_999_999));
        assert!(pace.is_due(105_000_000));
    }
}
