//! Builds the records of calls for recordings.

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::problem::ProblemKind;
use flowpipe_recording::entry::{Call, Event, Taken};

use crate::run::call::Context;
use crate::run::outcome::Outcome;
use crate::run::stage::Stage;
use crate::run::work::Work;
use crate::supervisor::Slot;
use crate::watch::CallSnapshot;

/// Builds the record of a call that has returned.
pub(crate) fn write(
    context: &Context<'_>,
    work: &Work,
    slot: Slot,
    outcome: &Outcome,
    clock: Vec<i64>,
) -> Call {
    let stage: &Stage = context.stage;
    let journal = &context.journal;
    let run = &*stage.run;
    Call {
        stage: stage.run.names.stage(stage.index),
        plugin: slot.contestant,
        worker: slot.worker,
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
            true => journal.take_waits(),
            false => Vec::new(),
        },
        cancelled: match stage.is_deterministic {
            true => journal.take_cancelled(),
            false => None,
        },
        marks: journal.take_marks(),
        failed: match outcome {
            Outcome::Failed(_, text) => Some(text.clone()),
            _ => None,
        },
        hung: matches!(outcome, Outcome::Failed(ProblemKind::Hang, _)),
        restarted: false,
    }
}

/// Builds the record of a call that never returned.
pub(crate) fn write_hung(stage: &Stage, slot: Slot, snapshot: &CallSnapshot, why: &str) -> Call {
    let run = &*stage.run;
    Call {
        stage: stage.run.names.stage(stage.index),
        plugin: slot.contestant,
        worker: slot.worker,
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
        port: stage.input_name(port).into(),
        from,
        output,
        sequence,
    }
}
