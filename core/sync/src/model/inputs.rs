//! [`crate::wake_up`] with two edges into one stage, and edges that end: no item is lost, and no thread sleeps for
//! ever.
//!
//! The stage does what the engine's `edge/inputs.rs` does, the edges' ends what its `edge/mod.rs` does.

use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::model::faulty::{Fault, finds, inject};
use crate::model::{Queue, model};
use crate::sync::{Condvar, lock, wait};
use crate::wake_up::WakeUp;

/// A channel of one place, and whether its sender is gone.
#[derive(Clone, Copy, Default)]
struct Channel {
    is_rung: bool,
    is_over: bool,
}

/// The channels that one thread waits for.
#[derive(Default)]
struct Bells {
    channels: Mutex<[Channel; 2]>,
    changed: Condvar,
}

/// The result of a receive.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Item(u32),
    Empty,
    Ended,
}

impl Bells {
    fn change(&self, index: usize, change: impl FnOnce(&mut Channel)) {
        if let Some(channel) = lock(&self.channels).get_mut(index) {
            change(channel);
        }
        self.changed.notify_all();
    }

    fn ring(&self, index: usize) {
        self.change(index, |it| it.is_rung = true);
    }

    fn end(&self, index: usize) {
        self.change(index, |it| it.is_over = true);
    }

    /// Waits until one of these has rung or is over, without silencing it.
    fn select(&self, indices: &[usize]) {
        let mut channels = lock(&self.channels);
        let is_ready = |it: Option<&Channel>| it.is_some_and(|it| it.is_rung || it.is_over);
        while !indices.iter().any(|&it| is_ready(channels.get(it))) {
            channels = wait(&self.changed, channels);
        }
    }

    /// Silences it if it has rung. Otherwise, whether it is over.
    fn try_receive(&self, index: usize) -> Result<(), bool> {
        let mut channels = lock(&self.channels);
        let channel = channels.get_mut(index).ok_or(true)?;
        match std::mem::take(&mut channel.is_rung) {
            true => Ok(()),
            false => Err(channel.is_over),
        }
    }
}

struct Edge {
    queue: Queue,
    wake_up: WakeUp,
}

/// A stage with two inputs.
struct Stage {
    edges: [Edge; 2],
    items: Bells,
    room: Bells,
    receiver: Receiver,
}

/// How the receiver behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Correct,
    /// It sleeps without a last check of its inputs.
    NoLastCheck,
    /// It treats an input as ended without a last check.
    NoLastCheckAtEnd,
    /// It sets only its first input's flag before it sleeps.
    OneFlag,
}

impl Stage {
    fn new(capacity: usize, receiver: Receiver) -> Arc<Self> {
        let edge = || Edge {
            queue: Queue::new(capacity),
            wake_up: WakeUp::default(),
        };
        Arc::new(Self {
            edges: [edge(), edge()],
            items: Bells::default(),
            room: Bells::default(),
            receiver,
        })
    }

    /// Sends this many numbers through an edge, until the receiver is gone, and ends it. Returns how many were queued.
    fn send(&self, index: usize, count: u32) -> u32 {
        let edge = &self.edges[index];
        let mut queued = 0;
        for item in 1..=count {
            let push = |it| edge.queue.push(it);
            let is_queued = push(item).is_ok()
                || edge.wake_up.wait_to_push(item, push, || {
                    self.room.select(&[index]);
                    self.room.try_receive(index).is_ok()
                });
            if !is_queued {
                break;
            }
            queued += 1;
            edge.wake_up.pushed(|| self.items.ring(index));
        }
        self.items.end(index);
        queued
    }

    fn pop(&self, index: usize) -> Option<u32> {
        let edge = &self.edges[index];
        let item = edge.queue.pop()?;
        let is_room = || edge.queue.is_half_empty();
        edge.wake_up.popped(is_room, || self.room.ring(index));
        Some(item)
    }

    fn try_take(&self, index: usize) -> Taken {
        loop {
            if let Some(item) = self.pop(index) {
                return Taken::Item(item);
            }
            match self.items.try_receive(index) {
                Ok(()) => {}
                Err(false) => return Taken::Empty,
                Err(true) if self.receiver == Receiver::NoLastCheckAtEnd => return Taken::Ended,
                // The last item may have come just before the end.
                Err(true) => return self.pop(index).map_or(Taken::Ended, Taken::Item),
            }
        }
    }

    /// An item and its input. Removes inputs that have ended.
    fn find(&self, open: &mut Vec<usize>) -> Option<(usize, u32)> {
        let mut found = None;
        open.retain(|&index| {
            found.is_some()
                || match self.try_take(index) {
                    Taken::Item(item) => {
                        found = Some((index, item));
                        true
                    }
                    Taken::Empty => true,
                    Taken::Ended => false,
                }
        });
        found
    }

    /// The next item; `None`: all inputs have ended.
    fn take(&self, open: &mut Vec<usize>) -> Option<(usize, u32)> {
        loop {
            if let Some(found) = self.find(open) {
                return Some(found);
            }
            if open.is_empty() {
                return None;
            }
            let is_forgotten = |index| self.receiver == Receiver::OneFlag && index != 0;
            for &index in open.iter().filter(|&&index| !is_forgotten(index)) {
                self.edges[index].wake_up.receiver_will_wait();
            }
            let found = match self.receiver {
                Receiver::NoLastCheck => None,
                _ => self.find(open),
            };
            if found.is_none() && !open.is_empty() {
                self.items.select(open);
            }
            for &index in &*open {
                self.edges[index].wake_up.receiver_is_awake();
            }
            if found.is_some() {
                return found;
            }
        }
    }

    /// The receiver is gone.
    fn leave(&self) {
        self.room.end(0);
        self.room.end(1);
    }
}

/// Two threads send this many items each. All arrive, each edge's in order, and then the end.
fn all_arrive(capacity: usize, counts: [u32; 2], receiver: Receiver) {
    model(move || {
        let stage = Stage::new(capacity, receiver);
        let senders = [0, 1].map(|index| {
            let stage = stage.clone();
            thread::spawn(move || stage.send(index, counts[index]))
        });
        let mut came = [0, 0];
        let mut open = vec![0, 1];
        while let Some((index, item)) = stage.take(&mut open) {
            came[index] += 1;
            assert_eq!(item, came[index], "order");
        }
        assert_eq!(came, counts, "lost");
        for (sender, count) in senders.into_iter().zip(counts) {
            assert_eq!(sender.join().unwrap(), count);
        }
    });
}

/// One edge alone, the other has ended. The receiver is gone after this many items.
fn receiver_leaves(after: u32) {
    model(move || {
        let stage = Stage::new(1, Receiver::Correct);
        stage.items.end(1);
        let sender = thread::spawn({
            let stage = stage.clone();
            move || stage.send(0, after + 2)
        });
        let mut open = vec![0, 1];
        for item in 1..=after {
            assert_eq!(stage.take(&mut open), Some((0, item)));
        }
        stage.leave();
        // One more item is in the queue.
        assert_eq!(sender.join().unwrap(), after + 1);
    });
}

#[test]
fn loom_two_inputs_lose_nothing() {
    all_arrive(1, [1, 1], Receiver::Correct);
    all_arrive(1, [2, 1], Receiver::Correct);
}

#[test]
fn loom_an_input_that_ends_leaves_the_other() {
    all_arrive(1, [2, 0], Receiver::Correct);
}

#[test]
fn loom_a_sender_notices_that_the_receiver_is_gone() {
    receiver_leaves(0);
    receiver_leaves(1);
}

finds!(
    loom_a_receiver_of_two_without_a_last_check_is_found,
    "deadlock",
    all_arrive(1, [2, 0], Receiver::NoLastCheck)
);

finds!(
    loom_an_end_without_a_last_check_is_found,
    "lost",
    all_arrive(1, [1, 0], Receiver::NoLastCheckAtEnd)
);

finds!(
    loom_an_input_without_a_flag_is_found,
    "deadlock",
    all_arrive(1, [0, 2], Receiver::OneFlag)
);

finds!(loom_a_lost_notification_at_the_end_is_found, "deadlock", {
    inject(Fault::LostNotify);
    all_arrive(1, [0, 0], Receiver::Correct);
});
