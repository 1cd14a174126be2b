//! Everything that flows into one stage.

use std::sync::Arc;

use crossbeam_channel::Select;

use crate::edge::cycle::Cycle;
use crate::edge::{Head, Taken};
use crate::message::Message;

/// The receiving ends of a stage's edges.
#[derive(Default)]
pub(crate) struct Inputs {
    /// Those that have not ended, each with its port.
    heads: Vec<(usize, Head)>,
    /// The cycle that the stage lies on.
    cycle: Option<Arc<Cycle>>,
    /// Where the next search begins, so that no edge starves the others.
    next: usize,
}

impl Inputs {
    pub(crate) fn new(heads: Vec<(usize, Head)>, cycle: Option<Arc<Cycle>>) -> Self {
        Self {
            heads,
            cycle,
            next: 0,
        }
    }

    /// The next message and the port that it came by, waiting for one. `None`: all inputs have ended.
    pub(crate) fn take(&mut self) -> Option<(usize, Arc<Message>)> {
        if let (None, [(port, head)]) = (&self.cycle, self.heads.as_slice()) {
            return head.take().map(|message| (*port, message));
        }
        if self.cycle.is_some() {
            for (_, head) in &self.heads {
                head.counters.finish_taken();
            }
        }
        loop {
            if let Some(found) = self.find() {
                return Some(found);
            }
            let over = self.cycle.as_ref().is_some_and(|cycle| cycle.check());
            if self.heads.is_empty() || over {
                return None;
            }
            self.heads.iter().for_each(|(_, head)| head.begin_to_wait());
            let found = self.find();
            if found.is_none() && !self.heads.is_empty() {
                self.sleep();
            }
            self.heads.iter().for_each(|(_, head)| head.wait_no_more());
            if found.is_some() {
                return found;
            }
        }
    }

    /// Takes a message if there is one, and forgets edges that have ended.
    fn find(&mut self) -> Option<(usize, Arc<Message>)> {
        let mut left = self.heads.len();
        while left > 0 {
            left -= 1;
            if self.next >= self.heads.len() {
                self.next = 0;
            }
            let (port, head) = self.heads.get(self.next)?;
            match head.try_take() {
                Taken::Message(message) => {
                    let port = *port;
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
    fn sleep(&self) {
        let mut select = Select::new();
        for (_, head) in &self.heads {
            head.watch(&mut select);
        }
        if let Some(cycle) = &self.cycle {
            select.recv(cycle.ended());
        }
        select.ready();
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for (_, head) in &self.heads {
            head.counters.finish_taken();
        }
        self.heads.clear();
        if let Some(cycle) = &self.cycle {
            cycle.check();
        }
    }
}
