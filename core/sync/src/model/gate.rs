//! [`crate::gate`] beside a queue: a worker that waits for items notices that it is to pause, and one that is let
//! through again goes on.

use loom::sync::Arc;
use loom::thread;

use crate::gate::{Bell, Gate};
use crate::model::faulty::{Fault, finds, inject};
use crate::model::{Bells, QUEUE, Queue, model};
use crate::wake_up::WakeUp;

struct Stage {
    gate: Gate,
    queue: Queue,
    wake_up: WakeUp,
    bells: Bells,
    worker: Worker,
}

/// How the worker does its part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    Careful,
    /// It pauses where the gate is closed, without saying so.
    Rash,
}

/// A bell that nobody hears.
struct Silent;

impl Bell for Silent {
    fn ring(&self) {}

    fn silence(&self) {}
}

impl Stage {
    fn new(worker: Worker) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::default(),
            queue: Queue::new(1),
            wake_up: WakeUp::default(),
            bells: Bells::default(),
            worker,
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

    /// The worker's loop, as the runtime's.
    fn work(&self) -> bool {
        loop {
            if self.gate.is_closed() && (self.worker == Worker::Rash || self.gate.pauses()) {
                return true;
            }
            if self.take().is_some() {
                return false;
            }
        }
    }
}

/// A worker, which says at its end whether it paused before its item came.
fn start(stage: &Arc<Stage>) -> thread::JoinHandle<bool> {
    let stage = stage.clone();
    thread::spawn(move || stage.work())
}

/// A worker without items is asked to pause.
fn pauses(close: impl Fn(&Stage) + Send + Sync + 'static) {
    model(move || {
        let stage = Stage::new(Worker::Careful);
        let worker = start(&stage);
        close(&stage);
        assert!(worker.join().unwrap());
    });
}

/// The gate is closed and opened again before an item comes.
fn opens_again(worker: Worker) {
    model(move || {
        let stage = Stage::new(worker);
        let worker = start(&stage);
        stage.gate.close(&stage.bells);
        let is_open = stage.gate.open_again(&stage.bells);
        stage.queue.push(1).unwrap();
        stage.wake_up.pushed(|| stage.bells.set(QUEUE, true));
        // Either somebody pauses, and is known to, or the item is taken.
        assert_eq!(worker.join().unwrap(), !is_open, "not as the gate said");
    });
}

#[test]
fn loom_a_worker_without_items_pauses() {
    pauses(|stage| stage.gate.close(&stage.bells));
}

finds!(
    loom_a_bell_that_is_not_heard_is_found,
    "deadlock",
    pauses(|stage| stage.gate.close(&Silent))
);

#[test]
fn loom_a_gate_that_opens_again_stops_nobody() {
    opens_again(Worker::Careful);
}

finds!(
    loom_a_worker_that_pauses_without_a_word_is_found,
    "not as the gate said",
    opens_again(Worker::Rash)
);

finds!(
    loom_a_gate_that_is_not_changed_in_one_step_is_found,
    "not as the gate said",
    {
        inject(Fault::Torn);
        opens_again(Worker::Careful);
    }
);
