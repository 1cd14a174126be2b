//! [`crate::gate`] beside a queue: a worker that waits for items notices that it is to pause, and one that is let
//! through again goes on.

use loom::sync::Arc;
use loom::thread;

use crate::gate::Gate;
use crate::model::{Bells, QUEUE, Queue, model};
use crate::wake_up::WakeUp;

struct Stage {
    gate: Gate,
    queue: Queue,
    wake_up: WakeUp,
    bells: Bells,
}

impl Stage {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::default(),
            queue: Queue::new(1),
            wake_up: WakeUp::default(),
            bells: Bells::default(),
        })
    }

    /// As the runtime's: an item, or `None` where the gate is closed.
    fn take(&self) -> Option<u32> {
        loop {
            if self.gate.is_closed() {
                return None;
            }
            if let Some(item) = self.queue.pop() {
                return Some(item);
            }
            let found = self
                .wake_up
                .wait_to_pop(|| self.queue.pop(), || self.bells.wait_for_any());
            if found.is_some() {
                return found;
            }
            self.bells.set(QUEUE, false);
            // The gate's bell may ring until who opened it again has silenced it.
            thread::yield_now();
        }
    }

    /// The worker's loop, as the runtime's: returns whether it paused before its item came.
    fn work(&self) -> bool {
        loop {
            if self.gate.is_closed() && self.gate.pauses() {
                return true;
            }
            if self.take().is_some() {
                return false;
            }
        }
    }
}

#[test]
fn loom_a_worker_without_items_pauses() {
    model(|| {
        let stage = Stage::new();
        let worker = thread::spawn({
            let stage = stage.clone();
            move || stage.work()
        });
        stage.gate.close(&stage.bells);
        assert!(worker.join().unwrap());
    });
}

#[test]
fn loom_a_gate_that_opens_again_stops_nobody() {
    model(|| {
        let stage = Stage::new();
        let worker = thread::spawn({
            let stage = stage.clone();
            move || stage.work()
        });
        stage.gate.close(&stage.bells);
        let is_open = stage.gate.open_again(&stage.bells);
        stage.queue.push(1).unwrap();
        stage.wake_up.pushed(|| stage.bells.set(QUEUE, true));
        // Either somebody pauses, and is known to, or the item is taken.
        assert_eq!(worker.join().unwrap(), !is_open);
    });
}
