//! Everything that flows into one stage.

use std::sync::Arc;

use crossbeam_channel::Select;
use flowpipe_host::message::Message;

use crate::edge::cycle::Cycle;
use crate::edge::gate::Gate;
use crate::edge::{Head, Taken};

/// The receiving ends of a stage's edges.
#[derive(Default)]
pub(crate) struct Inputs {
    /// Those that have not ended.
    heads: Vec<InEdge>,
    /// The cycle that the stage lies on.
    cycle: Option<Arc<Cycle>>,
    /// Where the next search begins, so that no edge starves the others.
    next: usize,
}

/// The receiving end of one edge.
pub(crate) struct InEdge {
    /// The edge's number in the run.
    pub index: usize,
    /// The input that it feeds.
    pub port: usize,
    pub head: Head,
}

/// What comes next.
pub(crate) enum Next {
    /// A message, and the port that it came by.
    Message(usize, Arc<Message>),
    /// Nothing any more: all inputs have ended.
    Ended,
    /// Whatever it is, it has to wait: the gate is closed.
    Paused,
}

impl Inputs {
    pub(crate) fn new(heads: Vec<InEdge>, cycle: Option<Arc<Cycle>>) -> Self {
        Self {
            heads,
            cycle,
            next: 0,
        }
    }

    /// What comes next, waiting for it.
    pub(crate) fn take(&mut self, gate: &Gate) -> Next {
        if let (None, [edge]) = (&self.cycle, self.heads.as_slice()) {
            return match edge.head.take(gate) {
                Taken::Message(message) => Next::Message(edge.port, message),
                Taken::Empty => Next::Paused,
                Taken::Ended => Next::Ended,
            };
        }
        if self.cycle.is_some() {
            for edge in &self.heads {
                edge.head.counters.finish_taken();
            }
        }
        loop {
            if gate.is_closed() {
                return Next::Paused;
            }
            if let Some((port, message)) = self.find() {
                return Next::Message(port, message);
            }
            let over = self.cycle.as_ref().is_some_and(|cycle| cycle.check());
            if self.heads.is_empty() || over {
                return Next::Ended;
            }
            self.heads.iter().for_each(|edge| edge.head.begin_to_wait());
            let found = self.find();
            if found.is_none() && !self.heads.is_empty() {
                self.sleep(gate);
            }
            self.heads.iter().for_each(|edge| edge.head.wait_no_more());
            if let Some((port, message)) = found {
                return Next::Message(port, message);
            }
        }
    }

    /// Takes them apart, so that they can be put together in another way. Nothing ends by that.
    pub(crate) fn into_parts(mut self) -> (Vec<InEdge>, Option<Arc<Cycle>>) {
        (std::mem::take(&mut self.heads), self.cycle.take())
    }

    /// Takes a message if there is one, and forgets edges that have ended.
    fn find(&mut self) -> Option<(usize, Arc<Message>)> {
        let mut left = self.heads.len();
        while left > 0 {
            left -= 1;
            if self.next >= self.heads.len() {
                self.next = 0;
            }
            let edge = self.heads.get(self.next)?;
            match edge.head.try_take() {
                Taken::Message(message) => {
                    let port = edge.port;
                    self.next += 1;
                    return Some((port, message));
                }
                Taken::Empty => self.next += 1,
                Taken::Ended => {
                    self.heads.remove(self.next);
                }
            }
        }
        None
    }

    /// Sleeps until something may have come.
    fn sleep(&self, gate: &Gate) {
        let mut select = Select::new();
        for edge in &self.heads {
            edge.head.watch(&mut select);
        }
        gate.watch(&mut select);
        if let Some(cycle) = &self.cycle {
            select.recv(cycle.ended());
        }
        select.ready();
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for edge in &self.heads {
            edge.head.counters.finish_taken();
        }
        self.heads.clear();
        if let Some(cycle) = &self.cycle {
            cycle.check();
        }
    }
}
