//! What one call is written down as, and what it is told when it is run again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use flowpipe_recording::entry::{
    Call, CancelReason, Cancelled, Emitted, Event, Mark, Origin, Taken,
};

use crate::message::{self, Message};
use crate::pipeline::PortRef;
use crate::problem::ProblemKind;
use crate::run::call::Context;
use crate::run::shared::Shared;
use crate::run::stage::Stage;
use crate::run::watch::{Look, Reason};
use crate::run::worker::{Outcome, Work};
use crate::sync::lock;

/// What happens in one call, as it happens.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// How often the stage has asked whether its work is wanted, from any thread.
    asked: AtomicU64,
    cancelled: Mutex<Option<Cancelled>>,
    waits: RefCell<Vec<bool>>,
    emitted: RefCell<Vec<Emitted>>,
    /// By output: how many of the recorded messages were looked through for numbers.
    numbered: RefCell<HashMap<String, usize>>,
    marks: RefCell<Vec<Mark>>,
}

impl Journal {
    /// The stage asks whether its work is wanted, and is answered next.
    pub(crate) fn note_asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// The work is not wanted any more, and the stage gets to know it.
    pub(crate) fn note_cancelled(&self, reason: Reason) {
        self.note_cancelled_after(self.asked.load(Ordering::Relaxed), reason);
    }

    /// Takes over what another process counted.
    #[cfg(unix)]
    pub(crate) fn catch_up(&self, asked: u64, told: Option<(u64, Reason)>) {
        self.asked.store(asked, Ordering::Relaxed);
        if let Some((after, reason)) = told {
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

    /// Whether the work had become unwanted by now, when the call was recorded.
    pub(crate) fn was_cancelled(&self, script: &Call) -> Option<Reason> {
        let cancelled = script.cancelled?;
        let asked = self.asked.load(Ordering::Relaxed);
        (asked >= cancelled.after).then_some(reason(cancelled.reason))
    }

    pub(crate) fn note_wait(&self, reached: bool) {
        self.waits.borrow_mut().push(reached);
    }

    /// How the wait that comes now ended when the call was recorded; one more than there were is reached at once.
    pub(crate) fn wait_again(&self, script: &Call) -> bool {
        let mut waits = self.waits.borrow_mut();
        let reached = script.waits.get(waits.len()).copied().unwrap_or(true);
        waits.push(reached);
        reached
    }

    /// When the message that comes now was emitted as the call was recorded; one more than there were comes with the last.
    /// `count`: of the messages of this call, it included.
    pub(crate) fn emitted_again(&self, script: &Call, count: u64) -> i64 {
        let index = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        let known = script.emitted.get(index).or(script.emitted.last());
        known.map_or(script.taken_ns, |emitted| emitted.at_ns)
    }

    /// The number of the message that comes now at an output, as the call was recorded. `None`: there were no more.
    pub(crate) fn numbered_again(&self, script: &Call, port: &str) -> Option<u64> {
        let mut numbered = self.numbered.borrow_mut();
        let before = match numbered.get_mut(port) {
            Some(before) => before,
            None => numbered.entry(port.to_owned()).or_default(),
        };
        let left = script.emitted.get(*before..).unwrap_or_default();
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

    /// What was sent since the last time.
    pub(crate) fn take_emitted(&self) -> Vec<Emitted> {
        self.emitted.take()
    }
}

/// Why work is not wanted any more, as recordings have it.
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

/// Writes a call down that has come back.
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
        waits: match stage.retraces {
            true => journal.waits.take(),
            false => Vec::new(),
        },
        cancelled: match stage.retraces {
            true => lock(&journal.cancelled).take(),
            false => None,
        },
        marks: journal.marks.take(),
        failed: match outcome {
            Outcome::Failed(_, text) => Some(text.clone()),
            _ => None,
        },
        hung: matches!(outcome, Outcome::Failed(ProblemKind::Hang, _)),
        anew: false,
    }
}

/// Writes down a call that never came back.
pub(crate) fn write_hung(stage: &Stage, contestant: usize, look: &Look, why: &str) -> Call {
    let run = &*stage.run;
    Call {
        stage: stage.run.names.stage(stage.index),
        plugin: contestant,
        event: match look.message {
            Some(_) => Event::Message,
            None if stage.is_source() => Event::Tick,
            None => Event::Finish,
        },
        took: look
            .message
            .map(|message| taken(stage, message.port, message.source, message.sequence)),
        taken_ns: look.since,
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
