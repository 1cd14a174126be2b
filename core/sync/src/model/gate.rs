//! [`crate::gate`] beside a queue: a worker that waits for items notices the closed gate, and continues when the gate
//! opens again.

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

/// How the worker behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    Correct,
    /// It pauses at a closed gate without a call of `pauses`.
    Unannounced,
}

/// A bell without effect.
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

    /// As in the engine: an item, or `None` at a closed gate.
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
            // The gate's bell may ring until the thread that opened the gate has silenced it.
            thread::yield_now();
        }
    }

    /// The worker's loop, as in the engine.
    fn work(&self) -> bool {
        loop {
            if self.gate.is_closed() && (self.worker == Worker::Unannounced || self.gate.pauses()) {
                return true;
            }
            if self.take().is_some() {
                return false;
            }
        }
    }
}

/// A worker. It returns whether it paused before its item came.
fn start(stage: &Arc<Stage>) -> thread::JoinHandle<bool> {
    let stage = stage.clone();
    thread::spawn(move || stage.work())
}

/// A worker without items is asked to pause.
fn pauses(close: impl Fn(&Stage) + Send + Sync + 'static) {
    model(move || {
        let stage = Stage::new(Worker::Correct);
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
        // Either the worker pauses, and `open_again` reports that, or it takes the item.
        assert_eq!(worker.join().unwrap(), !is_open, "differs from open_again");
    });
}

#[test]
fn loom_a_worker_without_items_pauses() {
    pauses(|stage| stage.gate.close(&stage.bells));
}

finds!(
    loom_a_bell_without_effect_is_found,
    "deadlock",
    pauses(|stage| stage.gate.close(&Silent))
);

#[test]
fn loom_a_gate_that_opens_again_loses_no_item() {
    opens_again(Worker::Correct);
}

finds!(
    loom_an_unannounced_pause_is_found,
    "differs from open_again",
    opens_again(Worker::Unannounced)
);

finds!(
    loom_a_gate_that_is_not_changed_in_one_step_is_found,
    "differs from open_again",
    {
        inject(Fault::Torn);
        opens_again(Worker::Correct);
    }
);
