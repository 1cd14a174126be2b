//! A pointer that many threads may use, and that its owner revokes before the target is freed.
//!
//! A [`Slot`] is never freed but granted again with a new generation. So a handle is a reference and a number: it is
//! `Copy` and its drop is free. Users of the pointer are counted, and [`Slot::revoke`] waits for them.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::sync::{AtomicPtr, AtomicU64, Condvar, Mutex, Ordering, lock, wait};

/// A pointer while it is granted.
pub struct Slot<T> {
    /// The generation, odd while the pointer is granted, above the number of users.
    state: AtomicU64,
    pointer: AtomicPtr<T>,
    /// [`Slot::revoke`] waits here for the users.
    waiting: Mutex<()>,
    left: Condvar,
}

/// A use of the pointer, which stays valid for its lifetime.
pub struct Entered<'a, T> {
    slot: &'a Slot<T>,
    generation: u32,
    pointer: *const T,
    _borrowed: PhantomData<&'a T>,
}

/// One generation in the state. The count below it has room for more threads than a system has.
const GENERATION: u64 = 1 << 32;

/// A slot of this generation is not granted again.
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
    #[allow(clippy::new_without_default, reason = "a default slot is of no use")]
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            pointer: AtomicPtr::new(std::ptr::null_mut()),
            waiting: Mutex::new(()),
            left: Condvar::new(),
        }
    }

    /// Grants a pointer; returns the generation for [`Self::enter`].
    ///
    /// # Safety
    /// Any thread may read the pointer until [`Self::revoke`] has returned. The slot is not granted.
    pub unsafe fn grant(&self, pointer: *const T) -> u32 {
        self.pointer.store(pointer.cast_mut(), Ordering::Relaxed);
        // Release: a thread that sees the generation sees the pointer.
        generation(self.state.fetch_add(GENERATION, Ordering::Release)) + 1
    }

    /// Uses the pointer of that generation. `None`: it was revoked.
    #[must_use]
    pub fn enter(&self, by: u32) -> Option<Entered<'_, T>> {
        // A late user is not counted, so that it does not keep `revoke` waiting.
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
            // The pointer of this generation: the next one is granted when this user has left.
            pointer: self.pointer.load(Ordering::Relaxed),
            _borrowed: PhantomData,
        })
    }

    fn leave(&self, by: u32) {
        // Release: reads through the pointer are over before `revoke` returns.
        let before = self.state.fetch_sub(1, Ordering::Release);
        if generation(before) != by {
            // Under the lock: a `revoke` that has just counted this user waits by then.
            drop(lock(&self.waiting));
            self.left.notify_all();
        }
    }

    /// Refuses new users, and waits for the current ones. Returns whether the slot may be granted again. Called once
    /// for each grant, and not by a user.
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
        // SAFETY: the owner keeps it valid until `revoke` returns, which waits for `self`.
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
    fn a_late_user_does_not_enter() {
        let slot = Slot::new();
        let value = Box::new(7);
        // SAFETY: the value is valid until it is revoked.
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
    fn revoke_waits_for_users() {
        let slot = Slot::new();
        let value = Box::new(7);
        // SAFETY: the value is valid until it is revoked.
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
            // A wait that is too short can only miss a fault.
            std::thread::sleep(Duration::from_millis(20));
            assert!(!is_revoked.load(Ordering::SeqCst));
            assert_eq!(user.as_deref(), Some(&7));
        });
        assert!(is_revoked.load(Ordering::SeqCst));
    }

    #[test]
    fn a_slot_is_not_granted_after_its_last_generation() {
        let slot = Slot::new();
        slot.state.store(
            u64::from(LAST_GENERATION - 1) * GENERATION,
            Ordering::Relaxed,
        );
        let value = 7;
        // SAFETY: the value is valid until it is revoked.
        let last = unsafe { slot.grant(&raw const value) };
        assert_eq!(slot.enter(last).as_deref(), Some(&7));
        assert!(!slot.revoke());
    }
}
