//! The journal of one call: what is recorded of it, and what a replay feeds back.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flowpipe_host::message::{self, Message};
use flowpipe_recording::entry::{Call, CancelReason, Cancelled, Emitted, Mark, Origin};
use flowpipe_sync::lock;

use crate::run::shared::Shared;
use crate::watch::Reason;

/// The most waits of one call that are recorded. A replay takes further ones to reach their deadlines.
const MOST_WAITS: usize = 100_000;

/// What happens in one call.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// How often the stage has checked for cancellation, from any thread.
    polls: AtomicU64,
    cancelled: Mutex<Option<Cancelled>>,
    waits: RefCell<Vec<bool>>,
    emitted: RefCell<Vec<Emitted>>,
    /// By output: how many of the recorded messages were searched for numbers.
    numbered: RefCell<HashMap<String, usize>>,
    marks: RefCell<Vec<Mark>>,
}

impl Journal {
    /// Counts a cancellation check of the stage.
    pub(crate) fn note_poll(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the stage sees its call cancelled.
    pub(crate) fn note_cancelled(&self, reason: Reason) {
        self.note_cancelled_after(self.polls.load(Ordering::Relaxed), reason);
    }

    /// Adopts the counts of another process.
    pub(crate) fn catch_up(&self, polls: u64, cancelled: Option<(u64, Reason)>) {
        self.polls.store(polls, Ordering::Relaxed);
        if let Some((after, reason)) = cancelled {
            self.note_cancelled_after(after, reason);
        }
    }

    fn note_cancelled_after(&self, after: u64, reason: Reason) {
        lock(&self.cancelled).get_or_insert(Cancelled {
            after,
            reason: match reason {
                Reason::Timeout => CancelReason::Timeout,
                Reason::Lost => CancelReason::Lost,
                Reason::Stop => CancelReason::Stop,
            },
        });
    }

    /// Why the recorded call was cancelled by now, if it was.
    pub(crate) fn was_cancelled(&self, recorded: &Call) -> Option<Reason> {
        let cancelled = recorded.cancelled?;
        let polls = self.polls.load(Ordering::Relaxed);
        (polls >= cancelled.after).then_some(reason(cancelled.reason))
    }

    pub(crate) fn note_wait(&self, run: &Shared, reached: bool) {
        let mut waits = self.waits.borrow_mut();
        if run.logs_calls && waits.len() < MOST_WAITS {
            waits.push(reached);
        }
    }

    /// Whether the recorded wait reached its deadline; true for waits that were not recorded.
    pub(crate) fn recorded_wait(&self, recorded: &Call) -> bool {
        let mut waits = self.waits.borrow_mut();
        let reached = recorded.waits.get(waits.len()).copied().unwrap_or(true);
        waits.push(reached);
        reached
    }

    /// When the recorded message of this number was emitted; for further messages, the time of the last one.
    /// `count`: the number of messages in this call, this one included.
    pub(crate) fn recorded_emission_ns(&self, recorded: &Call, count: u64) -> i64 {
        let index = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        let known = recorded.emitted.get(index).or(recorded.emitted.last());
        known.map_or(recorded.taken_ns, |emitted| emitted.at_ns)
    }

    /// The recorded sequence number of the next message at an output. `None`: no more were recorded.
    pub(crate) fn recorded_sequence(&self, recorded: &Call, port: &str) -> Option<u64> {
        let mut numbered = self.numbered.borrow_mut();
        let before = match numbered.get_mut(port) {
            Some(before) => before,
            None => numbered.entry(port.to_owned()).or_default(),
        };
        let left = recorded.emitted.get(*before..).unwrap_or_default();
        let next = left.iter().position(|it| it.port == port);
        *before += next.map_or(left.len(), |next| next + 1);
        next.and_then(|next| left.get(next)).map(|it| it.sequence)
    }

    pub(crate) fn note_mark(&self, run: &Shared, name: &str, at_ns: i64) {
        if !run.logs_calls {
            return;
        }
        self.marks.borrow_mut().push(Mark {
            name: name.into(),
            at_ns,
        });
    }

    pub(crate) fn note_emitted(&self, run: &Shared, message: &Message) {
        if !run.logs_calls {
            return;
        }
        let (_, port) = run.names.output(message.source());
        self.emitted.borrow_mut().push(Emitted {
            port,
            sequence: message.lineage().sequence,
            at_ns: message.emitted_ns(),
            origin: message.lineage().origin.map(|origin| named(run, origin)),
        });
    }

    /// Returns the results of the waits.
    pub(crate) fn take_waits(&self) -> Vec<bool> {
        self.waits.take()
    }

    /// Returns when the stage saw its call cancelled.
    pub(crate) fn take_cancelled(&self) -> Option<Cancelled> {
        lock(&self.cancelled).take()
    }

    /// Returns the marks.
    pub(crate) fn take_marks(&self) -> Vec<Mark> {
        self.marks.take()
    }

    /// Returns the messages sent since the last call.
    pub(crate) fn take_emitted(&self) -> Vec<Emitted> {
        self.emitted.take()
    }
}

/// Converts the reason of a cancellation from its recorded form.
pub(crate) fn reason(of: CancelReason) -> Reason {
    match of {
        CancelReason::Timeout => Reason::Timeout,
        CancelReason::Lost => Reason::Lost,
        CancelReason::Stop => Reason::Stop,
    }
}

fn named(run: &Shared, origin: message::Origin) -> Origin {
    Origin {
        stage: run.names.stage(origin.stage),
        sequence: origin.sequence,
        captured_ns: origin.captured_ns,
    }
}
