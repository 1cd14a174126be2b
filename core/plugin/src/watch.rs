//! Cancellation checks in the inner loop of a search.

use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// A [`Cancel`] that can be checked at every step: it polls the host only after enough work.
pub struct Watch<'a> {
    cancel: Cancel<'a>,
    every: u32,
    done: u32,
}

impl<'a> Watch<'a> {
    /// Polls the host once for each `every` units of work, and at the first call. `every` units must take well under 10
    /// ms.
    #[must_use]
    pub fn new(cancel: Cancel<'a>, every: u32) -> Self {
        Self {
            cancel,
            every,
            done: every,
        }
    }

    /// Counts some work that was or will be done.
    ///
    /// # Errors
    /// [`Error::cancelled`] when the work is cancelled.
    pub fn work(&mut self, units: u32) -> Result<()> {
        self.done = self.done.saturating_add(units);
        if self.done >= self.every {
            self.done = 0;
            if self.cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn polls_at_the_first_call_and_then_after_enough_work() {
        let polls = AtomicU32::new(0);
        let cancelled = || polls.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut watch = Watch::new(Cancel::by(&cancelled), 10);
        let polls_after = |watch: &mut Watch, units| {
            let result = watch.work(units);
            (result.is_ok(), polls.load(Ordering::Relaxed))
        };
        assert_eq!(polls_after(&mut watch, 1), (true, 1));
        assert_eq!(polls_after(&mut watch, 9), (true, 1));
        assert_eq!(polls_after(&mut watch, 1), (true, 2));
        assert_eq!(polls_after(&mut watch, u32::MAX), (false, 3));
    }
}
