//! The inputs of one stage.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Select;
use flowpipe_host::message::Descent;

use crate::edge::counters::Counters;
use crate::edge::cycle::Cycle;
use crate::edge::gate::Gate;
use crate::edge::{Head, Item, Received};

/// How often a stage in a cycle that gets no message checks whether the cycle has ended.
const CYCLE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The receiving ends of a stage's edges.
#[derive(Default)]
pub(crate) struct Inputs {
    /// The edges that have not ended.
    heads: Vec<InEdge>,
    /// The cycle that the stage is part of.
    cycle: Option<Arc<Cycle>>,
    /// In a cycle, the counters of edges that have ended while a message of them may still be processed.
    ended: Vec<Arc<Counters>>,
    /// A message that a worker has taken and not processed, and the counters of its edge, by which it is not taken. It is
    /// the next one.
    put_back: Option<(usize, Item, Arc<Counters>)>,
    /// The edge of the last message, by its place among the heads.
    last: usize,
    /// The edge to poll first next time, so that no edge starves the others.
    next: usize,
    /// The frame that the last message descends from.
    pub descent: Descent,
}

/// The receiving end of one edge.
pub(crate) struct InEdge {
    /// The edge's number in the run.
    pub index: usize,
    /// The input that it feeds.
    pub port: usize,
    pub head: Head,
}

/// The next event of a stage's inputs.
pub(crate) enum Next {
    /// A message and its input port.
    Message(usize, Item),
    /// All inputs have ended.
    Ended,
    /// The gate is closed: the stage has to pause.
    Paused,
}

/// The other workers of a stage, as seen by the one that waits for its next message.
pub(crate) trait OtherWorkers {
    /// Whether none of them processes a message.
    fn are_idle(&self) -> bool;
    /// Makes a select wake up when one of them has finished its message.
    fn watch<'a>(&'a self, select: &mut Select<'a>);
    /// Forgets what has finished so far.
    fn silence(&self);
}

impl Inputs {
    pub(crate) fn new(heads: Vec<InEdge>, cycle: Option<Arc<Cycle>>) -> Self {
        Self {
            heads,
            cycle,
            ended: Vec::new(),
            put_back: None,
            last: 0,
            next: 0,
            descent: Descent::default(),
        }
    }

    /// Waits for the next event. `others`: `None` if the stage has one worker.
    pub(crate) fn take(&mut self, gate: &Gate, others: Option<&impl OtherWorkers>) -> Next {
        let next = match self.put_back.take() {
            // Before anything taken counts as processed.
            Some((port, message, counters)) => {
                counters.take();
                Next::Message(port, message)
            }
            None => self.wait_for_next(gate, others),
        };
        if let Next::Message(_, message) = &next {
            self.descent = message.lineage.descent();
        }
        next
    }

    /// Returns the message that was taken last: the next worker takes it. If none does, it counts as left in its queue.
    pub(crate) fn put_back(&mut self, port: usize, message: Item) {
        // No edge has ended since it was taken.
        if let Some(edge) = self.heads.get(self.last) {
            let counters = edge.head.counters.clone();
            counters.put_back();
            self.put_back = Some((port, message, counters));
        }
    }

    fn wait_for_next(&mut self, gate: &Gate, others: Option<&impl OtherWorkers>) -> Next {
        if let (None, [edge]) = (&self.cycle, self.heads.as_slice()) {
            return match edge.head.take(gate) {
                Received::Message(message) => Next::Message(edge.port, message),
                Received::Empty => Next::Paused,
                Received::Ended => Next::Ended,
            };
        }
        if others.is_none() {
            self.finish_taken();
        }
        loop {
            if gate.is_closed() {
                return Next::Paused;
            }
            if let Some(others) = others {
                // Silenced first: whoever finishes later rings again.
                others.silence();
                // None of them takes a message meanwhile: only the owner of the inputs does.
                if others.are_idle() {
                    self.finish_taken();
                }
            }
            if let Some((port, message)) = self.find() {
                return Next::Message(port, message);
            }
            let over = self.cycle.as_ref().is_some_and(|cycle| cycle.check());
            if self.heads.is_empty() || over {
                return Next::Ended;
            }
            self.heads.iter().for_each(|edge| edge.head.begin_wait());
            let found = self.find();
            if found.is_none() && !self.heads.is_empty() {
                self.sleep(gate, others);
            }
            self.heads.iter().for_each(|edge| edge.head.end_wait());
            if let Some((port, message)) = found {
                return Next::Message(port, message);
            }
        }
    }

    /// In a cycle: marks everything taken so far as processed.
    fn finish_taken(&mut self) {
        if self.cycle.is_some() {
            for edge in &self.heads {
                edge.head.counters.finish_taken();
            }
            self.finish_ended();
        }
    }

    fn finish_ended(&mut self) {
        for counters in self.ended.drain(..) {
            counters.finish_taken();
        }
    }

    /// Decomposes the inputs, to rewire them. No edge ends by that.
    pub(crate) fn into_parts(mut self) -> (Vec<InEdge>, Option<Arc<Cycle>>, Descent) {
        // Nothing is processed meanwhile.
        self.finish_ended();
        (
            std::mem::take(&mut self.heads),
            self.cycle.take(),
            std::mem::take(&mut self.descent),
        )
    }

    /// Takes a message if there is one, and removes edges that have ended.
    fn find(&mut self) -> Option<(usize, Item)> {
        let mut left = self.heads.len();
        while left > 0 {
            left -= 1;
            if self.next >= self.heads.len() {
                self.next = 0;
            }
            let edge = self.heads.get(self.next)?;
            match edge.head.try_take() {
                Received::Message(message) => {
                    let port = edge.port;
                    self.last = self.next;
                    self.next += 1;
                    return Some((port, message));
                }
                Received::Empty => self.next += 1,
                Received::Ended => {
                    let edge = self.heads.remove(self.next);
                    if self.cycle.is_some() {
                        self.ended.push(edge.head.counters.clone());
                    }
                }
            }
        }
        None
    }

    /// Sleeps until there may be a message, or the cycle may have ended.
    fn sleep(&self, gate: &Gate, others: Option<&impl OtherWorkers>) {
        let mut select = Select::new();
        for edge in &self.heads {
            edge.head.watch(&mut select);
        }
        gate.watch(&mut select);
        if let Some(cycle) = &self.cycle {
            select.recv(cycle.ended());
            if let Some(others) = others {
                others.watch(&mut select);
            }
        }
        match self.cycle {
            // The counters of a stage that has just ended may still have moved at the last check of the others.
            Some(_) => {
                let _ = select.ready_timeout(CYCLE_CHECK_INTERVAL);
            }
            None => {
                select.ready();
            }
        }
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for edge in &self.heads {
            edge.head.counters.finish_taken();
        }
        self.finish_ended();
        self.heads.clear();
        if let Some(cycle) = &self.cycle {
            cycle.check();
        }
    }
}
