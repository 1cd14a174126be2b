//! How the two ends of a queue wake each other, at no cost for an end that is awake: each says in a flag that it is
//! about to sleep, looks once more, and sleeps until its bell rings. The other looks at the flag after each change of
//! the queue.
//!
//! The queue itself and the bells are the caller's. What they have to hold: changes of the queue and looks at it are
//! sequentially consistent as the flags are, and a bell that has rung stays rung until somebody waits for it.

use crate::sync::{AtomicBool, Ordering};

/// The flags of one queue. They are written seldom, so that looking at them costs nothing.
#[derive(Debug, Default)]
pub struct WakeUp {
    receiver_waits: AtomicBool,
    sender_waits: AtomicBool,
}

impl WakeUp {
    /// The sender has pushed an item: wakes the receiver if it sleeps.
    pub fn pushed(&self, wake_receiver: impl FnOnce()) {
        // After the push: either the receiver's last look before it sleeps finds the item, or this finds that it waits.
        if self.receiver_waits.load(Ordering::SeqCst) {
            wake_receiver();
        }
    }

    /// The receiver has popped an item: wakes the sender if it sleeps and there `is_room`. There has to be room at last
    /// when the queue is empty.
    pub fn popped(&self, is_room: impl FnOnce() -> bool, wake_sender: impl FnOnce()) {
        // After the pop, as in `pushed`.
        if self.sender_waits.load(Ordering::SeqCst) && is_room() {
            self.sender_waits.store(false, Ordering::Relaxed);
            wake_sender();
        }
    }

    /// The sender waits until its item can be pushed. `sleep` waits for the bell, and returns false when nobody receives
    /// any more. Returns whether the item was pushed.
    pub fn wait_to_push<T>(
        &self,
        mut item: T,
        push: impl Fn(T) -> Result<(), T>,
        sleep: impl Fn() -> bool,
    ) -> bool {
        loop {
            // Said before the last try: either it finds the room, or the receiver sees that this end waits.
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

    /// The receiver looks a last time, and sleeps if it finds nothing. Returns what it found before it slept.
    pub fn wait_to_pop<T>(
        &self,
        look: impl FnOnce() -> Option<T>,
        sleep: impl FnOnce(),
    ) -> Option<T> {
        self.receiver_begins_to_wait();
        let found = look();
        if found.is_none() {
            sleep();
        }
        self.receiver_waits_no_more();
        found
    }

    /// From here on [`Self::pushed`] wakes the receiver. It looks once more before it sleeps.
    pub fn receiver_begins_to_wait(&self) {
        self.receiver_waits.store(true, Ordering::SeqCst);
    }

    /// The sender need not wake the receiver.
    pub fn receiver_waits_no_more(&self) {
        self.receiver_waits.store(false, Ordering::Relaxed);
    }
}
