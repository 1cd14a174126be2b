//! All orders of events of two or three threads, by loom: `./x check deep loom`. Each model is also run with faults, in
//! the primitives ([`faulty`]) or in the use of the protocol, and has to fail.
//!
//! A limit of loom: it treats sequentially consistent accesses as acquire and release. The queue here is therefore
//! behind a lock. In crossbeam's `ArrayQueue` its own fences order its changes with the flags.

mod calls;
pub(crate) mod faulty;
mod gate;
mod inputs;
mod revocable;
mod tickets;
mod wake_up;

use std::collections::VecDeque;

use loom::sync::Mutex;

use crate::gate::Bell;
use crate::sync::{Condvar, lock, wait};

/// Tries all orders with at most three preemptions: without that bound, three threads have too many orders.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(run);
}

/// Bells of one thread, like crossbeam's channels of capacity 1 and its `Select`.
#[derive(Default)]
struct Bells {
    rung: Mutex<[bool; 2]>,
    changed: Condvar,
}

/// Rung by the other end of the queue, or by its end.
const QUEUE: usize = 0;
/// Rung by the gate.
const GATE: usize = 1;

impl Bells {
    fn set(&self, bell: usize, is_rung: bool) {
        if let Some(it) = lock(&self.rung).get_mut(bell) {
            *it = is_rung;
        }
        self.changed.notify_all();
    }

    /// Waits until a bell has rung, without silencing it.
    fn wait_for_any(&self) {
        let mut rung = lock(&self.rung);
        while !rung.contains(&true) {
            rung = wait(&self.changed, rung);
        }
    }

    /// Waits for one bell and silences it.
    fn wait_for(&self, bell: usize) {
        let mut rung = lock(&self.rung);
        while !rung.get(bell).copied().unwrap_or_default() {
            rung = wait(&self.changed, rung);
        }
        if let Some(it) = rung.get_mut(bell) {
            *it = false;
        }
    }
}

impl Bell for Bells {
    fn ring(&self) {
        self.set(GATE, true);
    }

    fn silence(&self) {
        self.set(GATE, false);
    }
}

/// A bounded queue of numbers.
struct Queue {
    items: Mutex<VecDeque<u32>>,
    capacity: usize,
}

impl Queue {
    fn new(capacity: usize) -> Self {
        Self {
            items: Mutex::new(VecDeque::new()),
            capacity,
        }
    }

    fn push(&self, item: u32) -> Result<(), u32> {
        let mut items = lock(&self.items);
        if items.len() >= self.capacity {
            return Err(item);
        }
        items.push_back(item);
        Ok(())
    }

    fn pop(&self) -> Option<u32> {
        lock(&self.items).pop_front()
    }

    fn is_half_empty(&self) -> bool {
        lock(&self.items).len() <= self.capacity / 2
    }
}
