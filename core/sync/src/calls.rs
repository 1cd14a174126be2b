//! The calls of a worker, one after the other. Another thread reads what is known of the call in progress, and may
//! abandon it.
//!
//! The worker's thread stores what is known of a call in atomics, and stores it again for the next call. A reader
//! either gets what belongs to one call, or nothing: a sequence lock, as in Boehm, "Can seqlocks get along with
//! programming language memory models?" (MSPC 2012).

use crate::sync::{AtomicU64, Ordering, fence};

/// Which call is in progress.
#[derive(Debug)]
pub struct Calls {
    /// The number of the call, shifted, and its phase.
    state: AtomicU64,
}

/// Number of one call of a worker. Numbers begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNumber(pub u64);

const BITS: u32 = 2;
const PHASE: u64 = (1 << BITS) - 1;
const IDLE: u64 = 0;
const BUSY: u64 = 1;
const ABANDONED: u64 = 2;

impl Default for Calls {
    fn default() -> Self {
        Self {
            state: AtomicU64::new(IDLE),
        }
    }
}

impl Calls {
    /// Starts a call, on the worker's thread. `store` stores what is known of the call, in relaxed atomics.
    pub fn begin(&self, store: impl FnOnce(CallNumber)) -> CallNumber {
        let call = CallNumber((self.state.load(Ordering::Relaxed) >> BITS) + 1);
        // A reader that sees one of these stores also sees that the call before has ended.
        fence(Ordering::Release);
        store(call);
        // Sequentially consistent: whoever wins a race either sees this call or is seen by it.
        self.state.store(call.0 << BITS | BUSY, Ordering::SeqCst);
        call
    }

    /// Ends a call that has returned. False: it was abandoned meanwhile.
    pub fn end(&self, call: CallNumber) -> bool {
        self.leave(call, IDLE)
    }

    /// Abandons the worker. False: its call has returned meanwhile.
    pub fn abandon(&self, call: CallNumber) -> bool {
        self.leave(call, ABANDONED)
    }

    fn leave(&self, call: CallNumber, phase: u64) -> bool {
        let call = call.0 << BITS;
        let changed = self.state.compare_exchange(
            call | BUSY,
            call | phase,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        changed.is_ok()
    }

    /// Whether the worker was abandoned in a call.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.state.load(Ordering::SeqCst) & PHASE == ABANDONED
    }

    /// The call in progress, if there is one.
    #[must_use]
    pub fn current(&self) -> Option<CallNumber> {
        let state = self.state.load(Ordering::SeqCst);
        (state & PHASE == BUSY).then_some(CallNumber(state >> BITS))
    }

    /// Loads what is known of the call in progress, from relaxed atomics. `None`: there is none, or it changed
    /// meanwhile.
    pub fn read<T>(&self, load: impl FnOnce(CallNumber) -> T) -> Option<T> {
        let call = self.current()?;
        let loaded = load(call);
        // What is loaded of a later call makes the next load see that this one has ended.
        fence(Ordering::Acquire);
        (self.current() == Some(call)).then_some(loaded)
    }
}
