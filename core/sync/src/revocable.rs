//! A pointer that many threads may use, and that its owner revokes before what it points at is freed.
//!
//! A [`Slot`] is never freed but granted again with a new generation, so that a handle is a reference and a number:
//! it can be copied, and costs nothing when it is dropped. Whoever uses the pointer is counted meanwhile, and
//! [`Slot::revoke`] waits for those.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::sync::{AtomicPtr, AtomicU64, Condvar, Mutex, Ordering, lock, wait};

/// Holds a pointer while it is granted.
pub struct Slot<T> {
    /// The generation, odd while the pointer is granted, above the count of those who use it.
    state: AtomicU64,
    pointer: AtomicPtr<T>,
    /// Where who revokes waits for those who use it.
    waiting: Mutex<()>,
    left: Condvar,
}

/// Somebody uses the pointer: it stays valid for as long.
pub struct Entered<'a, T> {
    slot: &'a Slot<T>,
    generation: u32,
    pointer: *const T,
    _borrowed: PhantomData<&'a T>,
}

/// What one generation adds to the state. The count below it has room for more threads than a system has.
const GENERATION: u64 = 1 << 32;

/// A slot that was granted so often is not granted again.
const LAST_GENERATION: u32 = u32::MAX - 2;

fn generation(state: u64) -> u32 {
    (state >> 32) as u32
}

fn users(state: u64) -> u32 {
    state as u32
}

impl<T> Slot<T> {
    /// A slot that is not granted.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "a default that is granted to nobody serves nobody"
    )]
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            pointer: AtomicPtr::new(std::ptr::null_mut()),
            waiting: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// Grants a pointer; returns the generation to enter by.
    ///
    /// # Safety
    /// The pointer may be read, by any thread, until [`Self::revoke`] has returned. The slot is not granted.
    pub unsafe fn grant(&self, pointer: *const T) -> u32 {
        self.pointer.store(pointer.cast_mut(), Ordering::Relaxed);
        // Release: who sees the generation sees the pointer.
        generation(self.state.fetch_add(GENERATION, Ordering::Release)) + 1
    }

    /// Uses the pointer that was granted with that generation. `None` when it was revoked.
    #[must_use]
    pub fn enter(&self, by: u32) -> Option<Entered<'_, T>> {
        // Whoever comes late does not count at all, so that it does not keep `revoke` waiting.
        if generation(self.state.load(Ordering::Relaxed)) != by {
            return None;
        }
        let before = self.state.fetch_add(1, Ordering::Acquire);
        if generation(before) != by {
            self.leave(by);
            return None;
        }
        Some(Entered {
            slot: self,
            generation: by,
            // Of this generation: the next one is granted when this user has left.
            pointer: self.pointer.load(Ordering::Relaxed),
            _borrowed: PhantomData,
        })
    }

    fn leave(&self, by: u32) {
        // Release: what was read through the pointer is over before `revoke` returns.
        let before = self.state.fetch_sub(1, Ordering::Release);
        if generation(before) != by {
            // Under the lock: somebody who has just counted this user is asleep by then.
            drop(lock(&self.waiting));
            self.left.notify_all();
        }
    }

    /// Lets nobody enter any more, and waits until nobody uses the pointer. Returns whether the slot may be granted
    /// again. Called once a grant, and not by who has entered.
    pub fn revoke(&self) -> bool {
        self.state.fetch_add(GENERATION, Ordering::Relaxed);
        let mut waiting = lock(&self.waiting);
        loop {
            let state = self.state.load(Ordering::Acquire);
            if users(state) == 0 {
                return generation(state) < LAST_GENERATION;
            }
            waiting = wait(&self.left, waiting);
        }
    }
}

impl<T> Deref for Entered<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: who granted it keeps it valid until `revoke` returns, which waits for `self`.
        unsafe { &*self.pointer }
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        self.slot.leave(self.generation);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_comes_late_does_not_enter() {
        let slot = Slot::new();
        let value = Box::new(7);
        // SAFETY: the value lives until it is revoked.
        let first = unsafe { slot.grant(&raw const *value) };
        assert_eq!(slot.enter(first).as_deref(), Some(&7));
        assert!(slot.revoke());
        drop(value);
        assert!(slot.enter(first).is_none());
        let value = Box::new(8);
        // SAFETY: as above.
        let second = unsafe { slot.grant(&raw const *value) };
        assert!(slot.enter(first).is_none());
        assert_eq!(slot.enter(second).as_deref(), Some(&8));
        slot.revoke();
    }

    #[test]
    fn a_user_is_waited_for() {
        let slot = Slot::new();
        let value = Box::new(7);
        // SAFETY: the value lives until it is revoked.
        let generation = unsafe { slot.grant(&raw const *value) };
        let is_revoked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let user = slot.enter(generation);
            scope.spawn(|| {
                slot.revoke();
                is_revoked.store(true, Ordering::SeqCst);
            });
            while slot.enter(generation).is_some() {
                std::thread::yield_now();
            }
            // It can only be too short to find a fault.
            std::thread::sleep(Duration::from_millis(20));
            assert!(!is_revoked.load(Ordering::SeqCst));
            assert_eq!(user.as_deref(), Some(&7));
        });
        assert!(is_revoked.load(Ordering::SeqCst));
    }

    #[test]
    fn a_slot_that_was_granted_too_often_is_not_granted_again() {
        let slot = Slot::new();
        slot.state.store(
            u64::from(LAST_GENERATION - 1) * GENERATION,
            Ordering::Relaxed,
        );
        let value = 7;
        // SAFETY: the value lives until it is revoked.
        let last = unsafe { slot.grant(&raw const value) };
        assert_eq!(slot.enter(last).as_deref(), Some(&7));
        assert!(!slot.revoke());
    }
}
