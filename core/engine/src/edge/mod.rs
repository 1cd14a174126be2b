//! Edges: bounded queues from one stage's output to another's input.
//!
//! Every edge has one sender and one receiver. The messages are in a ring buffer. Two channels of capacity one let the
//! ends wake each other (`flowpipe_sync::wake_up`): `items` wakes the receiver, `room` the sender. While an end is
//! awake, the other only reads a flag. A sender that finds the queue full sleeps until it is half empty: waking it for
//! each free slot would cause a context switch for each message.
//!
//! An edge has ended when its sender is dropped and its queue is empty.

pub(crate) mod counters;
pub(crate) mod cycle;
pub(crate) mod fed_input;
pub(crate) mod gate;
pub(crate) mod held_receipt;
pub(crate) mod inputs;
pub(crate) mod outputs;

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError};
use crossbeam_queue::ArrayQueue;
use flowpipe_config::pipeline::{Queue, WhenFull};
use flowpipe_host::message::Message;
use flowpipe_sync::wake_up::WakeUp;

use crate::edge::counters::Counters;
use crate::edge::gate::Gate;

/// A message in a queue.
#[derive(Clone)]
pub(crate) struct Item {
    pub message: Arc<Message>,
    pub receipt: Option<Receipt>,
}

/// Kept by what descends from a message of another machine, as long as that waits or is processed here, and dropped with
/// the last of it.
pub type Receipt = Arc<dyn Any + Send + Sync>;

/// The sending end.
pub(crate) struct Tail {
    pub counters: Arc<Counters>,
    ring: Arc<Ring>,
    when_full: WhenFull,
    items: Sender<()>,
    room: Receiver<()>,
}

/// The receiving end.
pub(crate) struct Head {
    pub counters: Arc<Counters>,
    ring: Arc<Ring>,
    items: Receiver<()>,
    room: Sender<()>,
    /// Another edge has replaced this one.
    moved: bool,
}

/// The state that both ends share. The flags are written seldom, so reading them is cheap.
struct Ring {
    queue: ArrayQueue<Item>,
    /// The capacity of the edge. The buffer is larger when it took over more messages from the edge that it replaces.
    limit: usize,
    wake_up: WakeUp,
    receiver_gone: AtomicBool,
}

/// The result of sending a message.
pub(crate) enum Sent {
    /// It was queued. These messages (or it itself) were dropped.
    Queued { dropped: Vec<Item> },
    /// The queue is full: pass the message to [`Tail::wait`].
    Full(Item),
    /// The receiver is gone.
    Gone,
}

/// The result of receiving.
pub(crate) enum Received {
    /// A message.
    Message(Item),
    /// There is no message now.
    Empty,
    /// The edge has ended.
    Ended,
}

impl Deref for Item {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

/// Creates an edge and returns both ends.
pub(crate) fn edge(queue: Queue) -> (Tail, Head) {
    edge_with(queue, Arc::default(), Vec::new())
}

/// Creates an edge that replaces another one: it continues that one's counters and starts with its queued messages,
/// even if they exceed its capacity.
pub(crate) fn edge_with(queue: Queue, counters: Arc<Counters>, items: Vec<Item>) -> (Tail, Head) {
    let limit = queue.capacity.max(1);
    let places = ArrayQueue::new(limit.max(items.len()));
    for item in items {
        // There is a slot for each.
        let _ = places.push(item);
    }
    let ring = Arc::new(Ring {
        queue: places,
        limit,
        wake_up: WakeUp::default(),
        receiver_gone: AtomicBool::new(false),
    });
    let (items, wait_for_items) = crossbeam_channel::bounded(1);
    let (room, wait_for_room) = crossbeam_channel::bounded(1);
    let tail = Tail {
        counters: counters.clone(),
        ring: ring.clone(),
        when_full: queue.when_full,
        items,
        room: wait_for_room,
    };
    (
        tail,
        Head {
            counters,
            ring,
            items: wait_for_items,
            room,
            moved: false,
        },
    )
}

impl Tail {
    /// Sends without waiting.
    pub(crate) fn send(&self, item: Item) -> Sent {
        self.counters.offer();
        if self.ring.receiver_gone.load(Ordering::Relaxed) {
            return Sent::Gone;
        }
        let dropped = match self.push(item) {
            Ok(dropped) => dropped,
            Err(item) => return Sent::Full(item),
        };
        self.counters.drop_messages(dropped.len() as u64);
        self.queued();
        Sent::Queued { dropped }
    }

    /// Waits until there is room, and queues the message. Returns false if the receiver is gone.
    pub(crate) fn wait(&self, item: Item) -> bool {
        let ring = &*self.ring;
        let is_queued =
            ring.wake_up
                .wait_to_push(item, |item| ring.push(item), || self.room.recv().is_ok());
        if is_queued {
            self.queued();
        }
        is_queued
    }

    /// Waits until the queue is empty. Returns false if the receiver is gone, or after `most` in which it has not emptied the
    /// queue.
    pub(crate) fn wait_until_empty(&self, most: Duration) -> bool {
        let ring = &*self.ring;
        // The queue, not the counters: the receiver changes them later, and rings only for what it has popped.
        let check = |()| ring.queue.is_empty().then_some(()).ok_or(());
        let sleep = || self.room.recv_timeout(most).is_ok();
        ring.wake_up.wait_to_push((), check, sleep)
    }

    /// Updates the counters after a push, and wakes the receiver if it sleeps.
    fn queued(&self) {
        self.counters.note_length(self.ring.queue.len());
        // After the push: either the receiver's clearing finds the message, or this load sees its flag.
        if self.ring.receiver_gone.load(Ordering::SeqCst) {
            self.ring.clear();
        }
        self.ring.wake_up.pushed(|| {
            // Full: it is being woken already. Gone: the next send notices.
            let _ = self.items.try_send(());
        });
    }

    /// Pushes a message according to the overflow policy. Returns the dropped messages.
    fn push(&self, item: Item) -> Result<Vec<Item>, Item> {
        let ring = &*self.ring;
        let queue = &ring.queue;
        match self.when_full {
            WhenFull::Block => ring.push(item).map(|()| Vec::new()),
            WhenFull::DropNewest => Ok(ring.push(item).err().into_iter().collect()),
            WhenFull::DropOldest if ring.is_wide() => {
                let more = || (queue.len() >= ring.limit).then(|| queue.pop()).flatten();
                let mut dropped: Vec<_> = std::iter::from_fn(more).collect();
                dropped.extend(queue.force_push(item));
                Ok(dropped)
            }
            WhenFull::DropOldest => Ok(queue.force_push(item).into_iter().collect()),
            WhenFull::Latest => {
                let Err(item) = ring.push(item) else {
                    return Ok(Vec::new());
                };
                let mut dropped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
                dropped.extend(queue.force_push(item));
                Ok(dropped)
            }
        }
    }
}

impl Ring {
    /// Whether the buffer is larger than the capacity of the edge.
    fn is_wide(&self) -> bool {
        self.queue.capacity() > self.limit
    }

    /// Drops the queued messages: nobody takes them.
    fn clear(&self) {
        while self.queue.pop().is_some() {}
    }

    /// Pushes a message if there is room. Only the sender calls this.
    fn push(&self, item: Item) -> Result<(), Item> {
        if self.is_wide() && self.queue.len() >= self.limit {
            return Err(item);
        }
        self.queue.push(item)
    }
}

impl Head {
    /// Takes a message if there is one.
    pub(crate) fn try_take(&self) -> Received {
        loop {
            if let Some(item) = self.pop() {
                return Received::Message(item);
            }
            match self.items.try_recv() {
                Ok(()) => {}
                Err(TryRecvError::Empty) => return Received::Empty,
                Err(TryRecvError::Disconnected) => {
                    // The last message may have come just before the end.
                    return self.pop().map_or_else(|| self.end(), Received::Message);
                }
            }
        }
    }

    /// Waits for a message, or until the gate closes; then returns [`Received::Empty`].
    pub(crate) fn take(&self, gate: &Gate) -> Received {
        loop {
            if gate.is_closed() {
                return Received::Empty;
            }
            if let Some(item) = self.pop() {
                return Received::Message(item);
            }
            let sleep = || {
                let mut select = Select::new();
                self.watch(&mut select);
                gate.watch(&mut select);
                select.ready();
            };
            let item = self.ring.wake_up.wait_to_pop(|| self.pop(), sleep);
            if let Some(item) = item {
                return Received::Message(item);
            }
            if let Err(TryRecvError::Disconnected) = self.items.try_recv() {
                // The last message may have come just before the end.
                return self.pop().map_or_else(|| self.end(), Received::Message);
            }
        }
    }

    /// Removes the queued messages, in order. The edge neither ends nor counts them as taken: another edge replaces it.
    pub(crate) fn dissolve(mut self) -> Vec<Item> {
        self.moved = true;
        std::iter::from_fn(|| self.ring.queue.pop()).collect()
    }

    /// Registers a wait through [`Self::watch`]: from here on the sender wakes the receiver. Poll once more before
    /// sleeping.
    pub(crate) fn begin_wait(&self) {
        self.ring.wake_up.receiver_will_wait();
    }

    /// Ends the wait: the sender need not wake the receiver.
    pub(crate) fn end_wait(&self) {
        self.ring.wake_up.receiver_is_awake();
    }

    /// Makes a select wake up when [`Self::try_take`] may find something new.
    pub(crate) fn watch<'a>(&'a self, select: &mut crossbeam_channel::Select<'a>) {
        select.recv(&self.items);
    }

    fn pop(&self) -> Option<Item> {
        let ring = &*self.ring;
        let item = ring.queue.pop()?;
        self.counters.take();
        ring.wake_up.popped(
            || ring.queue.len() <= ring.limit / 2,
            || {
                // Full: it is being woken already. Gone: it no longer waits.
                let _ = self.room.try_send(());
            },
        );
        Some(item)
    }

    fn end(&self) -> Received {
        self.counters.close();
        Received::Ended
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.ring.receiver_gone.store(true, Ordering::SeqCst);
        if !self.moved {
            self.counters.close();
            // The sender may stay, and keep the buffer. The messages do not count as taken.
            self.ring.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use flowpipe_config::pipeline::PortRef;
    use flowpipe_host::message::{Lineage, Message};

    use super::*;

    fn message(sequence: u64) -> Item {
        let message = Message {
            schema: Arc::from(c"test/1"),
            body: flowpipe_host::document::Document::empty(),
            frame: None,
            lineage: Lineage {
                sequence,
                origin: None,
                captured: None,
                hops: flowpipe_host::message::Hops::new(),
                root: None,
            },
            source: PortRef { stage: 0, port: 0 },
        };
        Item {
            message: Arc::new(message),
            receipt: None,
        }
    }

    /// Sends ten messages into a queue of capacity three. Returns the numbers that remain, and the counts.
    fn ten_into_three(when_full: WhenFull) -> (Vec<u64>, counters::EdgeCounts) {
        let (tail, head) = edge(Queue {
            capacity: 3,
            when_full,
        });
        for number in 1..=10 {
            assert!(matches!(tail.send(message(number)), Sent::Queued { .. }));
        }
        let counters = tail.counters.clone();
        drop(tail);
        let mut left = Vec::new();
        while let Received::Message(message) = head.take(&Gate::default()) {
            left.push(message.lineage.sequence);
        }
        assert!(matches!(head.try_take(), Received::Ended));
        (left, counters.snapshot())
    }

    #[test]
    fn full_queues_drop_according_to_the_policy() {
        for (when_full, expected) in [
            (WhenFull::DropOldest, vec![8, 9, 10]),
            (WhenFull::DropNewest, vec![1, 2, 3]),
            // Cleared by 4, 7 and 10.
            (WhenFull::Latest, vec![10]),
        ] {
            let (left, counts) = ten_into_three(when_full);
            assert_eq!(left, expected, "{when_full:?}");
            assert_eq!((counts.offered, counts.longest), (10, 3));
            assert_eq!(counts.dropped + counts.taken, 10);
            assert_eq!(counts.outstanding(), 0);
        }
    }

    #[test]
    fn a_message_that_is_put_back_counts_as_taken_once_it_is_taken_again() {
        let no_others = None::<&crate::run::order::Order>;
        let queue = Queue {
            capacity: 2,
            when_full: WhenFull::Block,
        };
        let ((first, first_head), (second, second_head)) = (edge(queue), edge(queue));
        let heads = [first_head, second_head].into_iter().enumerate();
        let heads = heads.map(|(index, head)| inputs::InEdge {
            index,
            port: index,
            head,
        });
        let mut inputs = inputs::Inputs::new(heads.collect(), None);
        let gate = Gate::default();
        (1..=2).for_each(|number| drop(second.send(message(number))));
        for (expected, is_put_back) in [(1, true), (1, false), (2, true)] {
            let inputs::Next::Message(port, item) = inputs.take(&gate, no_others) else {
                panic!("there is one")
            };
            assert_eq!((port, item.lineage.sequence), (1, expected));
            assert_eq!(second.counters.snapshot().taken, expected);
            if is_put_back {
                inputs.put_back(port, item);
                assert_eq!(second.counters.snapshot().taken, expected - 1);
            }
        }
        drop(inputs);
        let counts = second.counters.snapshot();
        assert_eq!(
            (counts.offered, counts.taken, counts.outstanding()),
            (2, 1, 1)
        );
        assert_eq!(first.counters.snapshot().taken, 0);
    }

    #[test]
    fn a_full_blocking_queue_returns_the_message() {
        let (tail, head) = edge(Queue {
            capacity: 1,
            when_full: WhenFull::Block,
        });
        assert!(
            matches!(tail.send(message(1)), Sent::Queued { ref dropped } if dropped.is_empty())
        );
        let Sent::Full(second) = tail.send(message(2)) else {
            panic!("it is full")
        };
        assert!(matches!(head.try_take(), Received::Message(_)));
        assert!(tail.wait(second));
        assert_eq!(tail.counters.snapshot().offered, 2);
    }

    #[test]
    fn an_edge_takes_over_more_messages_than_its_capacity() {
        for (when_full, dropped, left) in [
            (WhenFull::Block, 0, vec![1, 2, 3, 4, 5, 6]),
            (WhenFull::DropNewest, 1, vec![1, 2, 3, 4, 5]),
            (WhenFull::DropOldest, 4, vec![5, 6]),
            (WhenFull::Latest, 5, vec![6]),
        ] {
            let wide = Queue {
                capacity: 8,
                when_full: WhenFull::Block,
            };
            let (tail, head) = edge(wide);
            (1..=5).for_each(|number| drop(tail.send(message(number))));
            let counters = tail.counters.clone();
            drop(tail);
            let narrow = Queue {
                capacity: 2,
                when_full,
            };
            let (tail, head) = edge_with(narrow, counters.clone(), head.dissolve());
            assert!(!counters.snapshot().closed);
            let mut got = Vec::new();
            let mut take = || match head.try_take() {
                Received::Message(message) => got.push(message.lineage.sequence),
                Received::Empty | Received::Ended => panic!("there is one"),
            };
            match tail.send(message(6)) {
                Sent::Queued { dropped: gone } => assert_eq!(gone.len(), dropped, "{when_full:?}"),
                Sent::Full(item) => {
                    assert_eq!(when_full, WhenFull::Block);
                    (0..4).for_each(|_| take());
                    assert!(tail.wait(item));
                }
                Sent::Gone => panic!("the receiver exists"),
            }
            drop(tail);
            while let Received::Message(message) = head.try_take() {
                got.push(message.lineage.sequence);
            }
            assert_eq!(got, left, "{when_full:?}");
            let counts = counters.snapshot();
            assert_eq!((counts.offered, counts.outstanding()), (6, 0));
        }
    }

    #[test]
    fn a_sender_waits_until_its_message_is_taken() {
        const LONG: Duration = Duration::from_secs(60);
        let queue = Queue {
            capacity: 1,
            when_full: WhenFull::Block,
        };
        let (tail, head) = edge(queue);
        assert!(tail.wait_until_empty(Duration::ZERO), "nothing waits");
        for number in 1..=100 {
            assert!(matches!(tail.send(message(number)), Sent::Queued { .. }));
            assert!(!tail.wait_until_empty(Duration::ZERO), "nobody takes it");
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(matches!(head.try_take(), Received::Message(_))));
                assert!(tail.wait_until_empty(LONG));
            });
        }
        assert!(matches!(tail.send(message(101)), Sent::Queued { .. }));
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(head));
            // It may find the queue empty, which the receiver leaves.
            let _ = tail.wait_until_empty(LONG);
        });
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn a_sender_notices_that_the_receiver_is_gone() {
        for when_full in [WhenFull::Block, WhenFull::DropOldest, WhenFull::Latest] {
            let (tail, head) = edge(Queue {
                capacity: 2,
                when_full,
            });
            assert!(matches!(tail.send(message(1)), Sent::Queued { .. }));
            drop(head);
            assert!(matches!(tail.send(message(2)), Sent::Gone), "{when_full:?}");
            assert_eq!(tail.counters.snapshot().outstanding(), 2);
        }
    }

    #[test]
    fn without_a_receiver_no_message_is_kept() {
        let queue = Queue {
            capacity: 4,
            when_full: WhenFull::Block,
        };
        for _ in 0..200 {
            let (tail, head) = edge(queue);
            let receipt: Receipt = Arc::new(());
            let item = || Item {
                receipt: Some(receipt.clone()),
                ..message(1)
            };
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // It may wait for room when the receiver goes.
                    let mut is_there = true;
                    while is_there {
                        is_there = match tail.send(item()) {
                            Sent::Queued { .. } => true,
                            Sent::Full(item) => tail.wait(item),
                            Sent::Gone => false,
                        };
                    }
                });
                while !matches!(head.try_take(), Received::Message(_)) {}
                drop(head);
            });
            assert_eq!(Arc::strong_count(&receipt), 1);
        }
    }
}
