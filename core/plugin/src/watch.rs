//! The question whether the work is still wanted, for the inner loop of a search.

use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// A [`Cancel`] that can be asked at every step: it asks the host only now and then, when enough
/// work has been done since.
pub struct Watch<'a> {
    cancel: Cancel<'a>,
    every: u32,
    done: u32,
}

impl<'a> Watch<'a> {
    /// Asks the host once for so much work, at first at once. `every` units must take well under 10 ms.
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
    /// [`Error::cancelled`] when the host does not want the answer any more.
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
    fn asks_at_once_and_then_when_enough_is_done() {
        let asked = AtomicU32::new(0);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut watch = Watch::new(Cancel::by(&cancelled), 10);
        let asked_after = |watch: &mut Watch, units| {
            let result = watch.work(units);
            (result.is_ok(), asked.load(Ordering::Relaxed))
        };
        assert_eq!(asked_after(&mut watch, 1), (true, 1));
        assert_eq!(asked_after(&mut watch, 9), (true, 1));
        assert_eq!(asked_after(&mut watch, 1), (true, 2));
        assert_eq!(asked_after(&mut watch, u32::MAX), (false, 3));
    }
}
