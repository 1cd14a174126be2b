//! [`crate::wake_up`]: neither end sleeps for ever. loom fails when all threads do.

use loom::sync::Arc;
use loom::thread;

use crate::model::{Bells, QUEUE, Queue, model};
use crate::wake_up::WakeUp;

/// An edge as in the runtime: a queue, the flags, and a bell for each end.
struct Edge {
    queue: Queue,
    wake_up: WakeUp,
    items: Bells,
    room: Bells,
}

impl Edge {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(capacity),
            wake_up: WakeUp::default(),
            items: Bells::default(),
            room: Bells::default(),
        })
    }

    /// Sends a number, waiting for room.
    fn send(&self, item: u32) {
        if let Err(item) = self.queue.push(item) {
            let sleep = || {
                self.room.wait_for(QUEUE);
                true
            };
            assert!(
                self.wake_up
                    .wait_to_push(item, |it| self.queue.push(it), sleep)
            );
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
            let found = self
                .wake_up
                .wait_to_pop(|| self.pop(), || self.items.wait_for(QUEUE));
            if let Some(item) = found {
                return item;
            }
        }
    }
}

/// Sends so many through a queue of that capacity; they come in their order.
fn all_arrive(capacity: usize, count: u32) {
    model(move || {
        let edge = Edge::new(capacity);
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
    all_arrive(2, 2);
}

#[test]
fn loom_the_sender_is_woken() {
    all_arrive(1, 3);
}

#[test]
fn loom_a_sender_is_woken_when_the_queue_is_half_empty() {
    all_arrive(2, 4);
}
