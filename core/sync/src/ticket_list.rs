//! The order of items that several workers process at once, as a list without threads.

/// The tickets that are outstanding, oldest first. There are at most as many as workers.
#[derive(Debug, Default)]
pub(crate) struct TicketList {
    /// The number of the last ticket.
    last: u64,
    outstanding: Vec<Ticket>,
}

/// A worker's place in the order: that of the item that it processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    number: u64,
    worker: usize,
}

impl Ticket {
    /// The worker.
    #[must_use]
    pub fn worker(self) -> usize {
        self.worker
    }
}

impl TicketList {
    /// Gives a worker the next ticket. A worker takes one only after it has finished the one before.
    pub(crate) fn take(&mut self, worker: usize) -> Ticket {
        debug_assert!(
            self.outstanding.iter().all(|it| it.worker != worker),
            "a worker has one ticket"
        );
        self.last += 1;
        let number = self.last;
        let ticket = Ticket { number, worker };
        self.outstanding.push(ticket);
        ticket
    }

    /// Finishes a ticket, unless it is finished. Returns the worker whose turn comes by that.
    pub(crate) fn finish(&mut self, ticket: Ticket) -> Option<usize> {
        self.remove(|it| it == ticket)
    }

    /// Finishes the ticket of a worker, if it has one. Returns the worker whose turn comes by that.
    pub(crate) fn finish_of(&mut self, worker: usize) -> Option<usize> {
        self.remove(|it| it.worker == worker)
    }

    fn remove(&mut self, is_it: impl Fn(Ticket) -> bool) -> Option<usize> {
        let place = self.outstanding.iter().position(|it| is_it(*it))?;
        self.outstanding.remove(place);
        // The turn of the others has come before, or an older ticket is outstanding.
        let first = self.outstanding.first().filter(|_| place == 0)?;
        Some(first.worker)
    }

    /// Whether no older ticket is outstanding.
    pub(crate) fn is_turn(&self, ticket: Ticket) -> bool {
        let first = self.outstanding.first();
        first.is_none_or(|first| first.number >= ticket.number)
    }

    /// Whether all tickets are finished.
    pub(crate) fn is_empty(&self) -> bool {
        self.outstanding.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_oldest_ticket_has_its_turn() {
        let mut list = TicketList::default();
        let [first, second, third] = [2, 0, 1].map(|worker| list.take(worker));
        assert!(list.is_turn(first) && !list.is_turn(second) && !list.is_turn(third));
        assert_eq!(list.finish(second), None, "the first one is still older");
        assert!(!list.is_turn(third));
        assert_eq!(list.finish(first), Some(1));
        assert!(list.is_turn(third) && !list.is_empty());
        assert_eq!((list.finish(third), list.finish(third)), (None, None));
        assert!(list.is_empty());
    }

    #[test]
    fn the_ticket_of_an_abandoned_worker_is_finished() {
        let mut list = TicketList::default();
        let (abandoned, other) = (list.take(0), list.take(1));
        assert_eq!(list.finish_of(0), Some(1));
        assert!(list.is_turn(other));
        // Another instance has taken the worker's place, and the abandoned one returns.
        let next = list.take(0);
        assert_eq!(list.finish(abandoned), None);
        assert!(!list.is_turn(next));
        assert_eq!(list.finish_of(3), None, "it has none");
    }

    /// A step of a worker: it takes an item, passes one on, or finishes its item.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Take,
        Pass,
        Finish,
        Abandon,
    }

    /// Miri is slow.
    fn cases() -> ProptestConfig {
        let default = ProptestConfig::default();
        let cases = if cfg!(miri) { 4 } else { default.cases };
        ProptestConfig { cases, ..default }
    }

    proptest! {
        #![proptest_config(cases())]

        /// However workers take turns, what is passed on is in the order of the items, and nobody waits for ever.
        #[test]
        fn items_are_passed_on_in_order(
            workers in 1_usize..8,
            steps in prop::collection::vec(
                (0_usize..8, prop_oneof![
                    4 => Just(Step::Take),
                    4 => Just(Step::Pass),
                    3 => Just(Step::Finish),
                    1 => Just(Step::Abandon),
                ]),
                0..300,
            ),
        ) {
            let mut list = TicketList::default();
            let mut tickets = vec![None; workers];
            let mut passed_on = Vec::new();
            for (worker, step) in steps {
                let worker = worker % workers;
                let oldest = tickets.iter().flatten().min_by_key(|it: &&Ticket| it.number).copied();
                match (step, tickets[worker]) {
                    (Step::Take, None) => tickets[worker] = Some(list.take(worker)),
                    (Step::Pass, Some(ticket)) => {
                        prop_assert_eq!(list.is_turn(ticket), oldest == Some(ticket));
                        if list.is_turn(ticket) {
                            passed_on.push(ticket.number);
                        }
                    }
                    (Step::Finish | Step::Abandon, Some(ticket)) => {
                        tickets[worker] = None;
                        let woken = match step {
                            Step::Finish => list.finish(ticket),
                            _ => list.finish_of(worker),
                        };
                        let next = tickets.iter().flatten().min_by_key(|it: &&Ticket| it.number);
                        let next = next.filter(|_| oldest == Some(ticket));
                        prop_assert_eq!(woken, next.map(|it| it.worker));
                    }
                    _ => {}
                }
                prop_assert!(list.outstanding.len() <= workers);
                prop_assert_eq!(list.is_empty(), tickets.iter().all(Option::is_none));
            }
            prop_assert!(passed_on.is_sorted());
        }
    }
}
