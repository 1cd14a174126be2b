//! How the two ends of a queue wake each other, at no cost for an end that is awake: before an end sleeps, it sets its
//! flag, checks the queue once more, and sleeps until its bell rings. The other end checks the flag after each change
//! of the queue.
//!
//! The caller provides the queue and the bells. Requirements: changes and checks of the queue are sequentially
//! consistent, as the flags are, and a bell that has rung stays rung until a thread waits for it.

use crate::sync::{AtomicBool, Ordering};

/// The flags of one queue. They are written seldom, so that reading them is cheap.
#[derive(Debug, Default)]
pub struct WakeUp {
    receiver_waits: AtomicBool,
    sender_waits: AtomicBool,
}

impl WakeUp {
    /// The sender has pushed an item: wakes the receiver if it sleeps.
    pub fn pushed(&self, wake_receiver: impl FnOnce()) {
        // After the push: either the receiver's last check before it sleeps finds the item, or this load sees its flag.
        if self.receiver_waits.load(Ordering::SeqCst) {
            wake_receiver();
        }
    }

    /// The receiver has popped an item: wakes the sender if it sleeps and `is_room`. `is_room` must be true when the
    /// queue is empty.
    pub fn popped(&self, is_room: impl FnOnce() -> bool, wake_sender: impl FnOnce()) {
        // After the pop, as in `pushed`.
        if self.sender_waits.load(Ordering::SeqCst) && is_room() {
            self.sender_waits.store(false, Ordering::Relaxed);
            wake_sender();
        }
    }

    /// The sender waits until its item can be pushed. `sleep` waits for the bell, and returns false when the receiver
    /// is gone. Returns whether the item was pushed.
    pub fn wait_to_push<T>(
        &self,
        mut item: T,
        push: impl Fn(T) -> Result<(), T>,
        sleep: impl Fn() -> bool,
    ) -> bool {
        loop {
            // Set before the last try: either the try finds room, or the receiver sees the flag.
            self.sender_waits.store(true, Ordering::SeqCst);
            item = match push(item) {
                Ok(()) => break,
                Err(item) => item,
            };
            if !sleep() {
                return false;
            }
        }
        self.sender_waits.store(false, Ordering::Relaxed);
        true
    }

    /// The receiver checks the queue a last time, and sleeps if it is empty. Returns the item of the check.
    pub fn wait_to_pop<T>(
        &self,
        check: impl FnOnce() -> Option<T>,
        sleep: impl FnOnce(),
    ) -> Option<T> {
        self.receiver_will_wait();
        let found = check();
        if found.is_none() {
            sleep();
        }
        self.receiver_is_awake();
        found
    }

    /// From now on [`Self::pushed`] wakes the receiver. The receiver checks the queue once more before it sleeps.
    pub fn receiver_will_wait(&self) {
        self.receiver_waits.store(true, Ordering::SeqCst);
    }

    /// From now on the sender need not wake the receiver.
    pub fn receiver_is_awake(&self) {
        self.receiver_waits.store(false, Ordering::Relaxed);
    }
}
