//! The journal of one call: what is recorded of it, and what a replay feeds back.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::{self, Message};
use flowpipe_host::problem::ProblemKind;
use flowpipe_recording::entry::{
    Call, CancelReason, Cancelled, Emitted, Event, Mark, Origin, Taken,
};
use flowpipe_sync::lock;

use crate::run::call::Context;
use crate::run::shared::Shared;
use crate::run::stage::Stage;
use crate::run::worker::{Outcome, Work};
use crate::watch::{CallSnapshot, Reason};

/// What happens in one call.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// How often the stage has checked for cancellation, from any thread.
    asked: AtomicU64,
    cancelled: Mutex<Option<Cancelled>>,
    waits: RefCell<Vec<bool>>,
    emitted: RefCell<Vec<Emitted>>,
    /// By output: how many of the recorded messages were searched for numbers.
    numbered: RefCell<HashMap<String, usize>>,
    marks: RefCell<Vec<Mark>>,
}

impl Journal {
    /// Counts a cancellation check of the stage.
    pub(crate) fn note_asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the stage sees its call cancelled.
    pub(crate) fn note_cancelled(&self, reason: Reason) {
        self.note_cancelled_after(self.asked.load(Ordering::Relaxed), reason);
    }

    /// Adopts the counts of another process.
    #[cfg(unix)]
    pub(crate) fn catch_up(&self, asked: u64, cancelled: Option<(u64, Reason)>) {
        self.asked.store(asked, Ordering::Relaxed);
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
        let asked = self.asked.load(Ordering::Relaxed);
        (asked >= cancelled.after).then_some(reason(cancelled.reason))
    }

    pub(crate) fn note_wait(&self, reached: bool) {
        self.waits.borrow_mut().push(reached);
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

/// Builds the record of a call that has returned.
pub(crate) fn write(
    context: &Context<'_>,
    work: &Work,
    contestant: usize,
    outcome: &Outcome,
    clock: Vec<i64>,
) -> Call {
    let stage: &Stage = context.stage;
    let journal = &context.journal;
    let run = &*stage.run;
    Call {
        stage: stage.run.names.stage(stage.index),
        plugin: contestant,
        event: work.kind(),
        took: work.message.as_ref().map(|(port, message)| {
            taken(stage, *port, message.source(), message.lineage().sequence)
        }),
        taken_ns: work.taken_ns,
        ended_ns: run.now(),
        waited_ns: context.watch.waited_in_call(),
        emitted: journal.take_emitted(),
        clock,
        waits: match stage.is_deterministic {
            true => journal.waits.take(),
            false => Vec::new(),
        },
        cancelled: match stage.is_deterministic {
            true => lock(&journal.cancelled).take(),
            false => None,
        },
        marks: journal.marks.take(),
        failed: match outcome {
            Outcome::Failed(_, text) => Some(text.clone()),
            _ => None,
        },
        hung: matches!(outcome, Outcome::Failed(ProblemKind::Hang, _)),
        restarted: false,
    }
}

/// Builds the record of a call that never returned.
pub(crate) fn write_hung(
    stage: &Stage,
    contestant: usize,
    snapshot: &CallSnapshot,
    why: &str,
) -> Call {
    let run = &*stage.run;
    Call {
        stage: stage.run.names.stage(stage.index),
        plugin: contestant,
        event: match snapshot.message {
            Some(_) => Event::Message,
            None if stage.is_source() => Event::Tick,
            None => Event::Finish,
        },
        took: snapshot
            .message
            .map(|message| taken(stage, message.port, message.source, message.sequence)),
        taken_ns: snapshot.since,
        ended_ns: run.now(),
        failed: Some(why.to_owned()),
        hung: true,
        ..Call::default()
    }
}

fn taken(stage: &Stage, port: usize, source: PortRef, sequence: u64) -> Taken {
    let (from, output) = stage.run.names.output(source);
    Taken {
        port: stage.inputs.get(port).map(Into::into).unwrap_or_default(),
        from,
        output,
        sequence,
    }
}
