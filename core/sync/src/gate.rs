//! A gate that a worker passes before each item, and that another thread closes so that the worker pauses there.

use crate::sync::{AtomicU8, Ordering};

/// The gate. Whoever closes it rings a bell besides, which wakes a worker that waits for items.
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
/// Whoever comes is to pause.
const CLOSED: u8 = 1;
/// Somebody came and pauses.
const PAUSED: u8 = 2;

impl Default for Gate {
    fn default() -> Self {
        Self {
            state: AtomicU8::new(OPEN),
        }
    }
}

impl Gate {
    /// Asks whoever comes to pause.
    pub fn close(&self, bell: &impl Bell) {
        self.state.store(CLOSED, Ordering::SeqCst);
        // After the store: who wakes finds the gate closed.
        bell.ring();
    }

    /// Whoever comes need not pause any more. False: somebody does already.
    pub fn open_again(&self, bell: &impl Bell) -> bool {
        let was = self
            .state
            .compare_exchange(CLOSED, OPEN, Ordering::SeqCst, Ordering::SeqCst);
        if was != Err(PAUSED) {
            bell.silence();
        }
        was != Err(PAUSED)
    }

    /// Lets through again, now that whoever came has ended its thread.
    pub fn open(&self, bell: &impl Bell) {
        self.state.store(OPEN, Ordering::SeqCst);
        bell.silence();
    }

    /// Whether whoever comes is to pause.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OPEN
    }

    /// Somebody comes, and pauses if this returns true.
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.state
            .compare_exchange(CLOSED, PAUSED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}
