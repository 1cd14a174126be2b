//! Where a stage's thread is asked to pause: at a message boundary, also while it waits for messages.

use std::sync::atomic::{AtomicU8, Ordering};

use crossbeam_channel::{Receiver, Select, Sender};

/// The gate that a stage's thread passes before each message.
pub(crate) struct Gate {
    state: AtomicU8,
    /// Holds something while the gate is closed, so that who sleeps wakes up.
    bell: (Sender<()>, Receiver<()>),
}

const OPEN: u8 = 0;
/// Whoever comes is to pause.
const CLOSED: u8 = 1;
/// Somebody came and pauses.
const PAUSED: u8 = 2;

impl Default for Gate {
    fn default() -> Self {
        Self {
            state: AtomicU8::new(OPEN),
            bell: crossbeam_channel::bounded(1),
        }
    }
}

impl Gate {
    /// Asks whoever comes to the gate to pause.
    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::SeqCst);
        // Full: it rings already.
        let _ = self.bell.0.try_send(());
    }

    /// Whoever comes need not pause any more. False: somebody does already.
    pub(crate) fn open_again(&self) -> bool {
        let was = self
            .state
            .compare_exchange(CLOSED, OPEN, Ordering::SeqCst, Ordering::SeqCst);
        if was != Err(PAUSED) {
            let _ = self.bell.1.try_recv();
        }
        was != Err(PAUSED)
    }

    /// Lets through again, now that whoever came has ended its thread.
    pub(crate) fn open(&self) {
        self.state.store(OPEN, Ordering::SeqCst);
        let _ = self.bell.1.try_recv();
    }

    /// Whether whoever comes is to pause.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OPEN
    }

    /// Somebody comes, and pauses if this returns true.
    pub(crate) fn pauses(&self) -> bool {
        self.state
            .compare_exchange(CLOSED, PAUSED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// Makes a select wake up when the gate closes. It takes nothing out.
    pub(crate) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.bell.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_opens_it_again_learns_whether_somebody_pauses() {
        let gate = Gate::default();
        assert!(!gate.pauses(), "it is open");
        gate.close();
        assert!(gate.is_closed());
        assert!(gate.open_again() && !gate.pauses(), "nobody came");
        gate.close();
        assert!(gate.pauses() && !gate.open_again());
        gate.open();
        assert!(!gate.is_closed() && gate.open_again());
    }
}
