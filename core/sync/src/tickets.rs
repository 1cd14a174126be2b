//! The turns of several workers that take items from one queue: what a worker makes of an earlier item is passed on
//! before what another makes of a later one.
//!
//! A worker takes a [`Ticket`] with each item, while it owns the queue: the tickets are in the order of the items. It
//! waits for its turn before it passes something on, and finishes the ticket when it is done with the item. Whoever
//! abandons a worker finishes its ticket.

use crate::sync::{Condvar, Mutex, lock, wait_a_while};
pub use crate::ticket_list::Ticket;
use crate::ticket_list::TicketList;

/// The tickets of the workers of one queue.
#[derive(Debug)]
pub struct Tickets {
    list: Mutex<TicketList>,
    /// By worker: notified when its turn comes.
    turns: Box<[Condvar]>,
}

impl Tickets {
    /// The tickets of this many workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            list: Mutex::new(TicketList::default()),
            turns: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// Gives a worker a ticket for the item that it takes. It takes one only after it has finished the one before.
    pub fn take(&self, worker: usize) -> Ticket {
        lock(&self.list).take(worker)
    }

    /// Finishes a ticket, unless it is finished.
    pub fn finish(&self, ticket: Ticket) {
        let next = lock(&self.list).finish(ticket);
        self.notify(next);
    }

    /// Finishes the ticket of a worker that was abandoned, if it has one.
    pub fn finish_of(&self, worker: usize) {
        let next = lock(&self.list).finish_of(worker);
        self.notify(next);
    }

    fn notify(&self, worker: Option<usize>) {
        if let Some(turn) = worker.and_then(|worker| self.turns.get(worker)) {
            // Of an abandoned instance of the worker, too.
            turn.notify_all();
        }
    }

    /// Whether no older ticket is outstanding.
    #[must_use]
    pub fn is_turn(&self, ticket: Ticket) -> bool {
        lock(&self.list).is_turn(ticket)
    }

    /// Whether all tickets are finished.
    #[must_use]
    pub fn are_all_finished(&self) -> bool {
        lock(&self.list).is_empty()
    }

    /// Waits until no older ticket of another worker is outstanding. False: `gives_up` has returned true, which is
    /// called every few milliseconds, and must not use these tickets.
    pub fn wait(&self, ticket: Ticket, mut gives_up: impl FnMut() -> bool) -> bool {
        let Some(turn) = self.turns.get(ticket.worker()) else {
            return false;
        };
        let mut list = lock(&self.list);
        loop {
            if list.is_turn(ticket) {
                return true;
            }
            if gives_up() {
                return false;
            }
            list = wait_a_while(turn, list);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_worker_waits_for_its_turn() {
        let tickets = Tickets::new(2);
        let (first, second) = (tickets.take(0), tickets.take(1));
        let is_finished = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(tickets.wait(second, || false));
                assert!(is_finished.load(Ordering::SeqCst));
            });
            assert!(tickets.wait(first, || unreachable!("it is the oldest")));
            is_finished.store(true, Ordering::SeqCst);
            tickets.finish(first);
        });
        assert!(!tickets.are_all_finished());
        tickets.finish_of(1);
        assert!(tickets.are_all_finished());
    }

    #[test]
    fn a_worker_gives_up() {
        let tickets = Tickets::new(2);
        let (_, second) = (tickets.take(0), tickets.take(1));
        let mut polls = 0;
        assert!(!tickets.wait(second, || {
            polls += 1;
            polls > 2
        }));
    }
}
