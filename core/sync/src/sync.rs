//! The primitives: the standard library's, or loom's for the models.

#[cfg(all(test, loom))]
pub(crate) use crate::model::faulty::{AtomicBool, AtomicU8, AtomicU64, Condvar, fence};
#[cfg(all(not(test), loom))]
pub(crate) use loom::sync::{
    Condvar,
    atomic::{AtomicBool, AtomicU8, AtomicU64, fence},
};
#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicPtr, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering, fence},
};

// Ignores poisoning: no value behind a lock is ever half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar
        .wait(guard)
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification, a few milliseconds at most. In the models, which have no time, without that limit.
pub(crate) fn wait_a_while<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
) -> MutexGuard<'a, T> {
    #[cfg(loom)]
    return wait(condvar, guard);
    #[cfg(not(loom))]
    condvar
        .wait_timeout(guard, std::time::Duration::from_millis(5))
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .0
}
