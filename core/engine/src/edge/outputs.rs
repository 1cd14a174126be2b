//! Everything that flows out of one stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flowpipe_host::message::Message;

use crate::edge::{Sent, Tail};

/// The sending ends of a stage's edges, by port.
#[derive(Default)]
pub(crate) struct Outputs {
    ports: Vec<OutPort>,
}

/// One output port.
#[derive(Default)]
pub(crate) struct OutPort {
    tails: Vec<OutEdge>,
    /// The number of the last message. It outlives the port: numbers are given once in a run.
    sent: Arc<AtomicU64>,
    gone: usize,
}

/// The sending end of one edge.
pub(crate) struct OutEdge {
    /// Its number in the run.
    pub index: usize,
    /// For the log.
    name: String,
    tail: Tail,
    gone: bool,
    dropped: u64,
    /// The count at which drops are logged next: 1, 10, 100 and so on, so that a busy edge does not
    /// fill the log.
    logged_at: u64,
}

/// What the sender does around sending.
pub(crate) trait Sending {
    /// A queue is full: the sender begins to wait.
    fn waits(&self);
    /// It waits no more.
    fn waited(&self);
    /// The queue of an edge was full, and a message was dropped.
    fn dropped(&self, edge: usize, message: &Message);
}

impl OutPort {
    /// A port that goes on counting its messages there, with these edges.
    pub(crate) fn new(sent: Arc<AtomicU64>, tails: Vec<OutEdge>) -> Self {
        let gone = tails.iter().filter(|edge| edge.gone).count();
        Self { tails, sent, gone }
    }

    /// Adds an edge.
    pub(crate) fn add(&mut self, edge: OutEdge) {
        self.tails.push(edge);
    }

    /// The number for the next message.
    pub(crate) fn number(&mut self) -> u64 {
        // Written by one thread at a time, with the ports locked.
        let number = self.sent.load(Ordering::Relaxed) + 1;
        self.sent.store(number, Ordering::Relaxed);
        number
    }

    /// Where it counts its messages.
    pub(crate) fn sent(&self) -> &Arc<AtomicU64> {
        &self.sent
    }

    /// Sends a message over every edge, waiting where a queue is full. Returns whether anybody takes
    /// messages of this port, now or later; a port without edges takes everything.
    pub(crate) fn send(&mut self, message: Arc<Message>, sending: &impl Sending) -> bool {
        let Some((last, others)) = self.tails.split_last_mut() else {
            return true;
        };
        for edge in others {
            self.gone += usize::from(!edge.send(message.clone(), sending));
        }
        self.gone += usize::from(!last.send(message, sending));
        self.gone < self.tails.len()
    }

    fn is_gone(&self) -> bool {
        self.gone == self.tails.len()
    }
}

impl OutEdge {
    /// The edge of a number; `name` is for the log.
    pub(crate) fn new(index: usize, name: String, tail: Tail) -> Self {
        Self {
            index,
            name,
            tail,
            gone: false,
            dropped: 0,
            logged_at: 1,
        }
    }

    /// Returns false the first time that the receiver turns out to be gone.
    fn send(&mut self, message: Arc<Message>, sending: &impl Sending) -> bool {
        if self.gone {
            self.tail.counters.offer();
            return true;
        }
        let alive = match self.tail.send(message) {
            Sent::Queued { dropped } => {
                for message in &dropped {
                    sending.dropped(self.index, message);
                }
                self.note_dropped(dropped.len() as u64);
                true
            }
            Sent::Full(message) => {
                sending.waits();
                let queued = self.tail.wait(message);
                sending.waited();
                queued
            }
            Sent::Gone => false,
        };
        self.gone = !alive;
        alive
    }
}

impl OutEdge {
    fn note_dropped(&mut self, count: u64) {
        self.dropped += count;
        if count > 0 && self.dropped >= self.logged_at {
            tracing::info!(
                edge = self.name,
                dropped = self.dropped,
                "the queue is full: dropped"
            );
            while self.dropped >= self.logged_at {
                self.logged_at = self.logged_at.saturating_mul(10);
            }
        }
    }
}

impl Outputs {
    pub(crate) fn new(ports: Vec<OutPort>) -> Self {
        Self { ports }
    }

    /// The ports, in their order.
    pub(crate) fn ports(&self) -> &[OutPort] {
        &self.ports
    }

    /// Takes them apart.
    pub(crate) fn into_parts(self) -> Vec<OutEdge> {
        self.ports.into_iter().flat_map(|port| port.tails).collect()
    }

    pub(crate) fn port(&mut self, port: usize) -> Option<&mut OutPort> {
        self.ports.get_mut(port)
    }

    /// Whether the stage works for nobody: it has edges, and every receiver is gone.
    pub(crate) fn are_gone(&self) -> bool {
        self.ports.iter().any(|port| !port.tails.is_empty())
            && self.ports.iter().all(OutPort::is_gone)
    }
}
