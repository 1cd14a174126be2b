//! How long no worker is there.

use std::time::{Duration, Instant};

/// How long no worker is there before that is reported.
const REPORT_AFTER: Duration = Duration::from_secs(4);

/// The most time between two looks that counts: in a longer one this machine stood still.
const STEP: Duration = Duration::from_millis(500);

/// Watches whether workers are there.
#[derive(Debug)]
pub(crate) struct AbsenceWatch {
    /// When it was last looked.
    looked: Instant,
    /// For how long none was there.
    absent: Duration,
    is_reported: bool,
}

impl AbsenceWatch {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            looked: now,
            absent: Duration::ZERO,
            is_reported: false,
        }
    }

    /// A worker is there, or none is needed.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// No worker is there: for how long.
    pub(crate) fn absent_for(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.looked);
        self.looked = now;
        self.absent += passed.min(STEP);
        self.absent
    }

    /// Whether it is to be reported now that no worker is there: once in each absence.
    pub(crate) fn take_report(&mut self, now: Instant) -> bool {
        // Each look counts, also afterwards.
        let absent = self.absent_for(now);
        let is_due = !self.is_reported && absent >= REPORT_AFTER;
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
        let after = |tenths: u64| began + Duration::from_millis(100 * tenths);
        let mut watch = AbsenceWatch::new(began);
        // As often as it is looked.
        let reports = |watch: &mut AbsenceWatch, [first, last]: [u64; 2]| -> Vec<u64> {
            let mut looks = (first..=last).filter(|tenths| watch.take_report(after(*tenths)));
            looks.by_ref().collect()
        };
        assert_eq!(reports(&mut watch, [0, 90]), [40]);
        assert_eq!(watch.absent_for(after(90)), Duration::from_secs(9));
        watch.restart(after(100));
        assert_eq!(reports(&mut watch, [100, 190]), [140]);
        // This machine stood still for a minute.
        watch.restart(after(200));
        assert_eq!(reports(&mut watch, [800, 900]), [835]);
    }
}
