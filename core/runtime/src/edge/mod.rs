//! Edges: bounded queues from one stage's output to another's input.
//!
//! Every edge has one sender and one receiver. The messages lie in a ring; beside it are two channels
//! of one place through which the ends wake each other: `items` wakes the receiver, `room` the sender.
//! An end that is awake costs the other nothing but a look at a flag. A sender that found the queue
//! full sleeps until it is half empty: so the two take turns in batches, where waking it for each
//! free place would make the system switch threads for each message.
//!
//! When the sender is gone and the queue is empty, the edge has ended.

pub(crate) mod counters;
pub(crate) mod cycle;
pub(crate) mod inputs;
pub(crate) mod outputs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use crossbeam_queue::ArrayQueue;

use crate::edge::counters::Counters;
use crate::message::Message;
use crate::pipeline::{Queue, WhenFull};

type Item = Arc<Message>;

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
}

/// What both ends share. The flags are written seldom, so that looking at them costs nothing.
struct Ring {
    queue: ArrayQueue<Item>,
    receiver_waits: AtomicBool,
    sender_waits: AtomicBool,
    receiver_gone: AtomicBool,
}

/// What became of a message that was sent.
pub(crate) enum Sent {
    /// It is queued; these others (or itself) were dropped for it.
    Queued { dropped: Vec<Item> },
    /// It is queued as soon as there is room: hand it to [`Tail::wait`].
    Full(Item),
    /// Nobody receives any more.
    Gone,
}

/// What a receiver found.
pub(crate) enum Taken {
    /// A message.
    Message(Item),
    /// Nothing yet.
    Empty,
    /// Nothing any more.
    Ended,
}

/// Both ends of a new edge.
pub(crate) fn edge(queue: Queue) -> (Tail, Head) {
    let counters = Arc::new(Counters::default());
    let ring = Arc::new(Ring {
        queue: ArrayQueue::new(queue.capacity.max(1)),
        receiver_waits: AtomicBool::new(false),
        sender_waits: AtomicBool::new(false),
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

    /// Waits until there is room. Returns whether the message was queued.
    pub(crate) fn wait(&self, mut item: Item) -> bool {
        loop {
            // Said before the last try: either it finds the room, or the receiver sees that this
            // end waits.
            self.ring.sender_waits.store(true, Ordering::SeqCst);
            item = match self.ring.queue.push(item) {
                Ok(()) => break,
                Err(item) => item,
            };
            if self.room.recv().is_err() {
                return false;
            }
        }
        self.ring.sender_waits.store(false, Ordering::Relaxed);
        self.queued();
        true
    }

    /// A message is in the ring: counts, and wakes the receiver if it sleeps.
    fn queued(&self) {
        self.counters.note_length(self.ring.queue.len());
        // After the push, which is sequentially consistent as this is: either the receiver's last
        // look before it sleeps finds the message, or this finds that it waits.
        if self.ring.receiver_waits.load(Ordering::SeqCst) {
            // Full: it has been told already. Gone: shows when the next message is sent.
            let _ = self.items.try_send(());
        }
    }

    /// Puts a message into the ring as the policy says; returns those that were dropped.
    fn push(&self, item: Item) -> Result<Vec<Item>, Item> {
        let queue = &self.ring.queue;
        match self.when_full {
            WhenFull::Block => queue.push(item).map(|()| Vec::new()),
            WhenFull::DropNewest => Ok(queue.push(item).err().into_iter().collect()),
            WhenFull::DropOldest => Ok(queue.force_push(item).into_iter().collect()),
            WhenFull::Latest => {
                let Err(item) = queue.push(item) else {
                    return Ok(Vec::new());
                };
                let mut dropped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
                dropped.extend(queue.force_push(item));
                Ok(dropped)
            }
        }
    }
}

impl Head {
    /// Takes a message if there is one.
    pub(crate) fn try_take(&self) -> Taken {
        loop {
            if let Some(item) = self.pop() {
                return Taken::Message(item);
            }
            match self.items.try_recv() {
                Ok(()) => {}
                Err(TryRecvError::Empty) => return Taken::Empty,
                Err(TryRecvError::Disconnected) => {
                    // The last message may have come just before the end.
                    return self.pop().map_or_else(|| self.end(), Taken::Message);
                }
            }
        }
    }

    /// Takes a message, waiting for one. `None`: the edge has ended.
    pub(crate) fn take(&self) -> Option<Item> {
        loop {
            if let Some(item) = self.pop() {
                return Some(item);
            }
            self.begin_to_wait();
            let item = self.pop();
            let ended = item.is_none() && self.items.recv().is_err();
            self.wait_no_more();
            if item.is_some() {
                return item;
            }
            if ended {
                // The last message may have come just before the end.
                return self.pop().or_else(|| {
                    self.end();
                    None
                });
            }
        }
    }

    /// From here on the sender wakes whoever waits through [`Self::watch`]. Look once more for a
    /// message before you sleep.
    pub(crate) fn begin_to_wait(&self) {
        self.ring.receiver_waits.store(true, Ordering::SeqCst);
    }

    /// The sender need not wake anybody.
    pub(crate) fn wait_no_more(&self) {
        self.ring.receiver_waits.store(false, Ordering::Relaxed);
    }

    /// Makes a select wake up when [`Self::try_take`] may find something new.
    pub(crate) fn watch<'a>(&'a self, select: &mut crossbeam_channel::Select<'a>) {
        select.recv(&self.items);
    }

    fn pop(&self) -> Option<Item> {
        let ring = &*self.ring;
        let item = ring.queue.pop()?;
        self.counters.take();
        // After the pop, as in `Tail::queued`.
        if ring.sender_waits.load(Ordering::SeqCst) && ring.queue.len() <= ring.queue.capacity() / 2
        {
            ring.sender_waits.store(false, Ordering::Relaxed);
            // Full: it has been told already. Gone: it waits no more.
            let _ = self.room.try_send(());
        }
        Some(item)
    }

    fn end(&self) -> Taken {
        self.counters.close();
        Taken::Ended
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.ring.receiver_gone.store(true, Ordering::Relaxed);
        self.counters.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Lineage, Message};
    use crate::pipeline::PortRef;

    fn message(sequence: u64) -> Item {
        Arc::new(Message {
            schema: Arc::from(c"test/1"),
            body: crate::document::Document::empty(),
            frame: None,
            lineage: Lineage {
                sequence,
                origin: None,
                hops: Vec::new(),
            },
            source: PortRef { stage: 0, port: 0 },
        })
    }

    /// Sends ten messages into a queue of three; gives the numbers that are left, and the counts.
    fn ten_into_three(when_full: WhenFull) -> (Vec<u64>, counters::Counts) {
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
        while let Some(message) = head.take() {
            left.push(message.lineage.sequence);
        }
        assert!(matches!(head.try_take(), Taken::Ended));
        (left, counters.look())
    }

    #[test]
    fn full_queues_drop_what_the_policy_says() {
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
            assert_eq!(counts.discarded(), 0);
        }
    }

    #[test]
    fn a_full_blocking_queue_gives_the_message_back() {
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
        assert!(head.take().is_some());
        assert!(tail.wait(second));
        assert_eq!(tail.counters.look().offered, 2);
    }

    #[test]
    fn a_sender_notices_that_nobody_receives() {
        for when_full in [WhenFull::Block, WhenFull::DropOldest, WhenFull::Latest] {
            let (tail, head) = edge(Queue {
                capacity: 2,
                when_full,
            });
            assert!(matches!(tail.send(message(1)), Sent::Queued { .. }));
            drop(head);
            assert!(matches!(tail.send(message(2)), Sent::Gone), "{when_full:?}");
            assert_eq!(tail.counters.look().discarded(), 2);
        }
    }
}
