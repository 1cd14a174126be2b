//! [`crate::tickets`]: two workers that take items from one queue and pass them on in order.

use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::model::faulty::{Fault, finds, inject};
use crate::model::model;
use crate::sync::lock;
use crate::tickets::Tickets;

struct Stage {
    tickets: Tickets,
    /// The next item of the queue.
    next: Mutex<u32>,
    passed_on: Mutex<Vec<u32>>,
    worker: Worker,
}

/// How the workers behave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    Correct,
    /// They take their tickets after they have left the queue.
    Late,
    /// They don't wait for their turn.
    Impatient,
}

const ITEMS: u32 = 3;

impl Stage {
    fn work(&self, worker: usize) {
        loop {
            let mut next = lock(&self.next);
            if *next == ITEMS {
                return;
            }
            let item = *next;
            *next += 1;
            let ticket = match self.worker {
                Worker::Late => {
                    drop(next);
                    self.tickets.take(worker)
                }
                _ => {
                    let ticket = self.tickets.take(worker);
                    drop(next);
                    ticket
                }
            };
            if self.worker != Worker::Impatient {
                assert!(self.tickets.wait(ticket, || false));
            }
            lock(&self.passed_on).push(item);
            self.tickets.finish(ticket);
        }
    }
}

/// Two workers process all items.
fn passes_on_in_order(worker: Worker) {
    model(move || {
        let stage = Arc::new(Stage {
            tickets: Tickets::new(2),
            next: Mutex::new(0),
            passed_on: Mutex::default(),
            worker,
        });
        let other = {
            let stage = stage.clone();
            thread::spawn(move || stage.work(1))
        };
        stage.work(0);
        other.join().unwrap();
        let passed_on = lock(&stage.passed_on);
        assert!(passed_on.is_sorted(), "other order");
        assert_eq!(passed_on.len(), ITEMS as usize);
        assert!(stage.tickets.are_all_finished());
    });
}

#[test]
fn loom_items_are_passed_on_in_order() {
    passes_on_in_order(Worker::Correct);
}

/// A worker has taken an item and never returns. The control thread abandons it.
#[test]
fn loom_an_abandoned_worker_stops_nobody() {
    model(|| {
        let tickets = Arc::new(Tickets::new(2));
        let (_abandoned, later) = (tickets.take(0), tickets.take(1));
        let waiting = {
            let tickets = tickets.clone();
            thread::spawn(move || tickets.wait(later, || false))
        };
        tickets.finish_of(0);
        assert!(waiting.join().unwrap());
    });
}

finds!(loom_a_turn_without_notification_is_found, "deadlock", {
    inject(Fault::LostNotify);
    passes_on_in_order(Worker::Correct);
});

finds!(
    loom_a_ticket_that_is_taken_late_is_found,
    "other order",
    passes_on_in_order(Worker::Late)
);

finds!(
    loom_a_worker_that_does_not_wait_is_found,
    "other order",
    passes_on_in_order(Worker::Impatient)
);
