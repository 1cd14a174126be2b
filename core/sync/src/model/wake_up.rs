//! [`crate::wake_up`]: neither end sleeps for ever. loom fails when all threads sleep.

use std::cell::Cell;

use loom::sync::Arc;
use loom::thread;

use crate::model::faulty::{Fault, finds, inject};
use crate::model::{Bells, QUEUE, Queue, model};
use crate::wake_up::WakeUp;

/// An edge as in the engine: a queue, the flags, and a bell for each end.
struct Edge {
    queue: Queue,
    wake_up: WakeUp,
    items: Bells,
    room: Bells,
    ends: Ends,
}

/// How the two ends behave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Correct,
    /// The receiver sleeps without a last check.
    ReceiverWithoutCheck,
    /// The sender sleeps without a last try.
    SenderWithoutTry,
}

impl Edge {
    fn new(capacity: usize, ends: Ends) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(capacity),
            wake_up: WakeUp::default(),
            items: Bells::default(),
            room: Bells::default(),
            ends,
        })
    }

    /// Sends a number, waiting for room.
    fn send(&self, item: u32) {
        if let Err(item) = self.queue.push(item) {
            let sleep = || {
                self.room.wait_for(QUEUE);
                true
            };
            let skips_try = Cell::new(self.ends == Ends::SenderWithoutTry);
            let push = |it| match skips_try.take() {
                true => Err(it),
                false => self.queue.push(it),
            };
            assert!(self.wake_up.wait_to_push(item, push, sleep));
        }
        self.wake_up.pushed(|| self.items.set(QUEUE, true));
    }

    fn pop(&self) -> Option<u32> {
        let item = self.queue.pop()?;
        self.wake_up
            .popped(|| self.queue.is_half_empty(), || self.room.set(QUEUE, true));
        Some(item)
    }

    /// Receives a number, waiting for one.
    fn receive(&self) -> u32 {
        loop {
            if let Some(item) = self.pop() {
                return item;
            }
            let check = || match self.ends {
                Ends::ReceiverWithoutCheck => None,
                _ => self.pop(),
            };
            let found = self
                .wake_up
                .wait_to_pop(check, || self.items.wait_for(QUEUE));
            if let Some(item) = found {
                return item;
            }
        }
    }
}

/// Sends this many items through a queue of that capacity; they arrive in order.
fn all_arrive(capacity: usize, count: u32, ends: Ends) {
    model(move || {
        let edge = Edge::new(capacity, ends);
        let sender = thread::spawn({
            let edge = edge.clone();
            move || (1..=count).for_each(|item| edge.send(item))
        });
        for item in 1..=count {
            assert_eq!(edge.receive(), item);
        }
        sender.join().unwrap();
    });
}

#[test]
fn loom_the_receiver_is_woken() {
    all_arrive(2, 2, Ends::Correct);
}

#[test]
fn loom_the_sender_is_woken() {
    all_arrive(1, 3, Ends::Correct);
}

#[test]
fn loom_a_sender_is_woken_when_the_queue_is_half_empty() {
    all_arrive(2, 4, Ends::Correct);
}

finds!(
    loom_a_receiver_without_a_last_check_is_found,
    "deadlock",
    all_arrive(2, 2, Ends::ReceiverWithoutCheck)
);

finds!(
    loom_a_sender_without_a_last_try_is_found,
    "deadlock",
    all_arrive(1, 3, Ends::SenderWithoutTry)
);

finds!(loom_a_lost_flag_is_found, "deadlock", {
    inject(Fault::LostStore);
    all_arrive(2, 2, Ends::Correct);
});

finds!(loom_a_lost_notification_is_found, "deadlock", {
    inject(Fault::LostNotify);
    all_arrive(2, 2, Ends::Correct);
});
