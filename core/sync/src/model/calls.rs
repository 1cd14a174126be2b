//! [`crate::calls`]: a reader gets what belongs to one call, and a call either ends or is abandoned.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use crate::calls::{CallNumber, Calls};
use crate::model::faulty::{Fault, finds, inject};
use crate::model::model;

/// A worker whose calls store their number twice.
#[derive(Default)]
struct Worker {
    calls: Calls,
    known: [AtomicU64; 2],
}

impl Worker {
    fn begin(&self) -> CallNumber {
        self.calls.begin(|call| {
            for it in &self.known {
                it.store(call.0, Ordering::Relaxed);
            }
        })
    }
}

/// Another thread reads while a worker makes two calls.
fn is_read_whole() {
    model(|| {
        let worker = Arc::new(Worker::default());
        let reader = worker.clone();
        let reader = thread::spawn(move || {
            reader.calls.read(|call| {
                let known = reader.known.each_ref();
                (call, known.map(|it| it.load(Ordering::Relaxed)))
            })
        });
        for _ in 0..2 {
            let call = worker.begin();
            assert!(worker.calls.end(call));
        }
        if let Some((call, known)) = reader.join().unwrap() {
            assert_eq!(known, [call.0; 2], "of another call");
        }
    });
}

/// A call returns while it is abandoned.
fn ends_once() {
    model(|| {
        let worker = Arc::new(Worker::default());
        let call = worker.begin();
        let other = worker.clone();
        let other = thread::spawn(move || other.calls.abandon(call));
        let ended = worker.calls.end(call);
        assert_ne!(ended, other.join().unwrap(), "both or none");
        assert_eq!(worker.calls.is_abandoned(), !ended);
    });
}

#[test]
fn loom_what_is_known_belongs_to_one_call() {
    is_read_whole();
}

finds!(
    loom_what_is_known_without_order_is_found,
    "of another call",
    {
        inject(Fault::Unordered);
        is_read_whole();
    }
);

#[test]
fn loom_a_call_ends_or_is_abandoned() {
    ends_once();
}

finds!(
    loom_a_call_that_does_not_end_in_one_step_is_found,
    "both or none",
    {
        inject(Fault::Torn);
        ends_once();
    }
);
