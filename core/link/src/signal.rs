//! Wakes a thread that waits for several links.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts the changes of links, such as events that arrive. See [`Link::set_signal`](crate::link::Link::set_signal).
#[derive(Clone, Debug, Default)]
pub struct LinkSignal(Arc<Changes>);

#[derive(Debug, Default)]
struct Changes {
    count: Mutex<u64>,
    changed: Condvar,
}

impl LinkSignal {
    /// How often a link has changed.
    #[must_use]
    pub fn changes(&self) -> u64 {
        *self.lock()
    }

    /// Waits until a link has changed more often than `seen`, at most for this time.
    pub fn wait(&self, seen: u64, timeout: Duration) {
        let is_same = |count: &mut u64| *count == seen;
        let waited = self
            .0
            .changed
            .wait_timeout_while(self.lock(), timeout, is_same);
        drop(waited);
    }

    pub(crate) fn notify(&self) {
        *self.lock() += 1;
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.0.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No test waits for so long.
    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_change_before_the_wait_or_during_it_ends_it() {
        let signal = LinkSignal::default();
        let seen = signal.changes();
        signal.notify();
        signal.wait(seen, LONG);
        let seen = signal.changes();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait(seen, LONG));
            signal.notify();
            waiting.join().unwrap();
        });
        // Without a change it takes its time.
        signal.wait(signal.changes(), Duration::from_millis(1));
        assert_eq!(signal.changes(), seen + 1);
    }
}
