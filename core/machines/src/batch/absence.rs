//! How long no worker is there.

use std::time::{Duration, Instant};

/// How long no worker is there before that is reported.
const REPORT_AFTER: Duration = Duration::from_secs(4);

/// Watches whether workers are there.
#[derive(Debug)]
pub(crate) struct AbsenceWatch {
    /// When one was there, or was not needed.
    last: Instant,
    is_reported: bool,
}

impl AbsenceWatch {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            last: now,
            is_reported: false,
        }
    }

    /// A worker is there, or none is needed.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Since when no worker is there.
    pub(crate) fn absent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last)
    }

    /// Whether it is to be reported now that no worker is there: once in each absence.
    pub(crate) fn take_report(&mut self, now: Instant) -> bool {
        let is_due = !self.is_reported && self.absent_for(now) >= REPORT_AFTER;
        self.is_reported |= is_due;
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_absence_is_reported_once_after_a_few_seconds() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let mut watch = AbsenceWatch::new(began);
        assert!(!watch.take_report(after(3)));
        assert!(watch.take_report(after(4)));
        assert!(!watch.take_report(after(9)));
        assert_eq!(watch.absent_for(after(9)), Duration::from_secs(9));
        watch.restart(after(10));
        assert!(!watch.take_report(after(13)));
        assert!(watch.take_report(after(14)));
    }
}
