//! The order in which the workers of one stage emit.
//!
//! Each message that a worker takes gets a ticket ([`flowpipe_sync::tickets`]). Before it emits, the worker waits until
//! the tickets of all earlier messages are finished. A call that fails, is killed or abandoned finishes its ticket too,
//! so that each ticket is finished as surely as a call ends. A stage holds no more messages by that than it has workers.

use crossbeam_channel::{Receiver, Select, Sender};
use flowpipe_abi as abi;
use flowpipe_sync::tickets::{Ticket, Tickets};

use crate::edge::inputs::OtherWorkers;

/// The order of the messages of a stage with several workers.
#[derive(Debug)]
pub(crate) struct Order {
    tickets: Tickets,
    /// Whether messages leave in the order of those that they descend from.
    is_ordered: bool,
    /// Holds an item when a worker has finished a message.
    finished: (Sender<()>, Receiver<()>),
}

impl Order {
    pub(crate) fn new(workers: usize, is_ordered: bool) -> Self {
        Self {
            tickets: Tickets::new(workers),
            is_ordered,
            finished: crossbeam_channel::bounded(1),
        }
    }

    /// Gives a worker a ticket. Call it while the inputs are locked: the tickets are in the order of the messages.
    pub(crate) fn take(&self, worker: usize) -> Ticket {
        self.tickets.take(worker)
    }

    /// A worker has finished its message.
    pub(crate) fn finish(&self, ticket: Ticket) {
        self.tickets.finish(ticket);
        self.notify();
    }

    /// A worker was abandoned, or its thread has panicked: it does not finish its message.
    pub(crate) fn abandon(&self, worker: usize) {
        self.tickets.finish_of(worker);
        self.notify();
    }

    fn notify(&self) {
        // Full: the worker that waits for a message is being woken already.
        let _ = self.finished.0.try_send(());
    }
}

/// The turn of a call.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    order: &'a Order,
    ticket: Ticket,
}

impl<'a> Turn<'a> {
    /// The turn of a call for this event. `None`: it may emit at any time. What is emitted at the end of the stream
    /// follows all messages in any case.
    pub(crate) fn of(order: &'a Order, ticket: Ticket, event: abi::Event) -> Option<Self> {
        let waits = order.is_ordered || event == abi::EVENT_FINISH;
        waits.then_some(Self { order, ticket })
    }

    /// Whether no earlier message is being processed.
    pub(crate) fn has_come(&self) -> bool {
        self.order.tickets.is_turn(self.ticket)
    }

    /// Waits until it has come. False: `gives_up` returned true, which is called every few milliseconds.
    pub(crate) fn wait(&self, gives_up: impl FnMut() -> bool) -> bool {
        self.order.tickets.wait(self.ticket, gives_up)
    }
}

impl OtherWorkers for Order {
    fn are_idle(&self) -> bool {
        self.tickets.are_all_finished()
    }

    fn watch<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.finished.1);
    }

    fn silence(&self) {
        let _ = self.finished.1.try_recv();
    }
}
