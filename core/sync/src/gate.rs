//! A gate that a worker passes before each item. Another thread closes it to pause the worker there.

use crate::sync::{AtomicU8, Ordering};

/// The gate. Closing it also rings a bell, which wakes a worker that waits for items.
#[derive(Debug)]
pub struct Gate {
    state: AtomicU8,
}

/// Wakes a worker that waits for its next item.
pub trait Bell {
    /// Rings until it is silenced.
    fn ring(&self);

    /// The opposite of [`Self::ring`].
    fn silence(&self);
}

const OPEN: u8 = 0;
/// The worker must pause.
const CLOSED: u8 = 1;
/// The worker pauses.
const PAUSED: u8 = 2;

impl Default for Gate {
    fn default() -> Self {
        Self {
            state: AtomicU8::new(OPEN),
        }
    }
}

impl Gate {
    /// Asks the worker to pause.
    pub fn close(&self, bell: &impl Bell) {
        self.state.store(CLOSED, Ordering::SeqCst);
        // After the store: a woken worker sees the closed gate.
        bell.ring();
    }

    /// Withdraws the request to pause. False: the worker pauses already.
    pub fn open_again(&self, bell: &impl Bell) -> bool {
        let was = self
            .state
            .compare_exchange(CLOSED, OPEN, Ordering::SeqCst, Ordering::SeqCst);
        if was != Err(PAUSED) {
            bell.silence();
        }
        was != Err(PAUSED)
    }

    /// Opens the gate after the paused worker has ended its thread.
    pub fn open(&self, bell: &impl Bell) {
        self.state.store(OPEN, Ordering::SeqCst);
        bell.silence();
    }

    /// Whether the worker must pause.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OPEN
    }

    /// Called by the worker at the gate. True: the worker pauses.
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.state
            .compare_exchange(CLOSED, PAUSED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}
