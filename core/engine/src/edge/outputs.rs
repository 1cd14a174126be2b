//! The outputs of one stage.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flowpipe_config::manifest::Content;
use flowpipe_host::message::Message;

use crate::edge::fed_input::FedInput;
use crate::edge::{Item, Sent, Tail};

/// After how long it is checked whether a message is taken that a worker has put back, at least and at most: nothing reports
/// that.
const PUT_BACK_CHECK: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

/// The sending ends of a stage's edges, by port.
#[derive(Default)]
pub(crate) struct Outputs {
    ports: Vec<OutPort>,
}

/// One output port.
#[derive(Default)]
pub(crate) struct OutPort {
    tails: Vec<OutEdge>,
    /// The sequence number of the last message. It outlives the port: a number is used once in a run.
    sent: Arc<AtomicU64>,
    gone: usize,
}

/// The sending end of one edge.
pub(crate) struct OutEdge {
    /// Its index in the run.
    pub index: usize,
    /// For the log.
    name: String,
    fed: FedInput,
    tail: Tail,
    gone: bool,
    dropped: u64,
    /// The count at which drops are logged next: 1, 10, 100 and so on, so that a busy edge does not flood the log.
    logged_at: u64,
}

/// Callbacks of the sender.
pub(crate) trait Sending {
    /// The queue is full: the sender starts to wait.
    fn begin_wait(&self);
    /// The wait has ended.
    fn end_wait(&self);
    /// The queue of an edge was full, and a message was dropped.
    fn dropped(&self, edge: usize, message: &Message);
}

impl OutPort {
    /// Creates a port with these edges that continues the sequence numbers of `sent`.
    pub(crate) fn new(sent: Arc<AtomicU64>, tails: Vec<OutEdge>) -> Self {
        let gone = tails.iter().filter(|edge| edge.gone).count();
        Self { tails, sent, gone }
    }

    /// Adds an edge.
    pub(crate) fn add(&mut self, edge: OutEdge) {
        self.tails.push(edge);
    }

    /// Returns the sequence number for the next message.
    pub(crate) fn number(&mut self) -> u64 {
        // Written by one thread at a time, with the ports locked.
        let number = self.sent.load(Ordering::Relaxed) + 1;
        self.sent.store(number, Ordering::Relaxed);
        number
    }

    /// The counter of its sequence numbers.
    pub(crate) fn sent(&self) -> &Arc<AtomicU64> {
        &self.sent
    }

    /// Sends a message over every edge, waiting where a queue is full. Returns whether the port still has a receiver;
    /// true for a port without edges.
    pub(crate) fn send(&mut self, item: Item, sending: &impl Sending) -> bool {
        let Some((last, others)) = self.tails.split_last_mut() else {
            return true;
        };
        for edge in others {
            self.gone += usize::from(!edge.send(item.clone(), sending));
        }
        self.gone += usize::from(!last.send(item, sending));
        self.gone < self.tails.len()
    }

    /// The inputs that it feeds.
    pub(crate) fn fed(&self) -> impl Iterator<Item = FedInput> {
        self.tails.iter().map(|edge| edge.fed.clone())
    }

    fn is_gone(&self) -> bool {
        self.gone == self.tails.len()
    }
}

impl OutEdge {
    /// Creates the edge of an index; `name` is for the log.
    pub(crate) fn new(index: usize, name: String, fed: FedInput, tail: Tail) -> Self {
        Self {
            index,
            name,
            fed,
            tail,
            gone: false,
            dropped: 0,
            logged_at: 1,
        }
    }

    /// Whether a message waits for its receiver, which has not ended.
    fn has_waiting(&self) -> bool {
        let counts = self.tail.counters.snapshot();
        !counts.closed && counts.outstanding() > 0
    }

    /// Waits until no message waits for its receiver, or that has ended, but not much longer than `most`. Returns whether
    /// it is so.
    pub(crate) fn wait_until_taken(&self, most: Duration) -> bool {
        let began = Instant::now();
        if self.has_waiting() {
            self.tail.wait_until_empty(most);
        }
        while self.has_waiting() {
            if began.elapsed() >= most {
                return false;
            }
            let [least, most] = PUT_BACK_CHECK;
            std::thread::sleep((began.elapsed() / 16).clamp(least, most));
        }
        true
    }

    /// Why its receiver does not take messages of a schema with this content. `None`: it takes them.
    pub(crate) fn refusal(&self, schema: &CStr, content: Content<'_>) -> Option<String> {
        self.fed.refusal(schema, content)
    }

    /// Returns false the first time that the receiver is gone.
    pub(crate) fn send(&mut self, item: Item, sending: &impl Sending) -> bool {
        if self.gone {
            self.tail.counters.offer();
            return true;
        }
        let alive = match self.tail.send(item) {
            Sent::Queued { dropped } => {
                for message in &dropped {
                    sending.dropped(self.index, message);
                }
                self.note_dropped(dropped.len() as u64);
                true
            }
            Sent::Full(item) => {
                sending.begin_wait();
                let queued = self.tail.wait(item);
                sending.end_wait();
                queued
            }
            Sent::Gone => false,
        };
        self.gone = !alive;
        alive
    }

    fn note_dropped(&mut self, count: u64) {
        self.dropped += count;
        if count > 0 && self.dropped >= self.logged_at {
            tracing::info!(
                edge = self.name,
                dropped = self.dropped,
                "queue full: dropped messages"
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

    /// Decomposes the outputs into their edges.
    pub(crate) fn into_parts(self) -> Vec<OutEdge> {
        self.ports.into_iter().flat_map(|port| port.tails).collect()
    }

    pub(crate) fn port(&mut self, port: usize) -> Option<&mut OutPort> {
        self.ports.get_mut(port)
    }

    /// Whether the stage has edges and every receiver is gone.
    pub(crate) fn are_gone(&self) -> bool {
        self.ports.iter().any(|port| !port.tails.is_empty())
            && self.ports.iter().all(OutPort::is_gone)
    }
}
