//! The calls of other machines in a trace, from the entries that their recorders send.

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::Origin;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_recording::entry::{About, Call, CancelReason, Dropped, Trouble};

use super::chart::Chart;
use super::{Current, Note, Slice, Taken};

/// The notes of a call. None if the pipeline does not have what it names.
pub(super) fn call(chart: &Chart, about: &About, call: &Call) -> Vec<Note> {
    let Some(stage) = stage(about, &call.stage) else {
        return Vec::new();
    };
    let current = Current {
        track: chart.track(stage, call.worker, call.plugin),
        began_ns: call.taken_ns,
    };
    let taken = call.took.as_ref().and_then(|took| {
        let mut inputs = about.stages[stage].inputs.iter();
        let port = inputs.position(|it| *it == *took.port)?;
        Some(Taken {
            from: output(about, &took.from, &took.output)?,
            to: PortRef { stage, port },
            sequence: took.sequence,
        })
    });
    let mut notes = vec![Note::Began {
        taken,
        at_ns: call.taken_ns,
    }];
    let mut origin = None;
    for emitted in &call.emitted {
        let Some(source) = output(about, &call.stage, &emitted.port) else {
            continue;
        };
        let frame = emitted.origin.as_ref();
        let frame = frame.and_then(|it| Some((self::stage(about, &it.stage)?, it)));
        origin = origin.or(frame.map(|(stage, it)| Origin {
            stage,
            sequence: it.sequence,
            captured_ns: it.captured_ns,
        }));
        notes.push(Note::Emitted {
            call: Some(current),
            source,
            sequence: emitted.sequence,
            at_ns: emitted.at_ns,
        });
    }
    notes.extend(call.marks.iter().map(|mark| Note::Marked {
        track: current.track,
        name: mark.name.to_string(),
        frame: super::frame(origin),
        at_ns: mark.at_ns,
    }));
    let is_cancelled = |why| call.cancelled.is_some_and(|it| it.reason == why);
    notes.push(Note::Completion(Box::new(Slice {
        track: current.track,
        event: call.event,
        taken,
        origin,
        began_ns: call.taken_ns,
        ended_ns: call.ended_ns.max(call.taken_ns),
        waited_ns: call.waited_ns,
        emitted: call.emitted.len() as u64,
        lost: is_cancelled(CancelReason::Lost),
        stopped: is_cancelled(CancelReason::Stop),
        failed: call.failed.clone(),
    })));
    notes
}

/// The note of a message that a queue dropped.
pub(super) fn dropped(chart: &Chart, about: &About, dropped: &Dropped) -> Option<Note> {
    let is_it = |edge: &flowpipe_recording::entry::AboutEdge| {
        let names = [&edge.from.0, &edge.from.1, &edge.to.0, &edge.to.1];
        let (to, input) = &dropped.to;
        names == [&*dropped.from, &*dropped.output, &**to, &**input]
    };
    Some(Note::Dropped {
        track: chart.track(stage(about, &dropped.from)?, 0, 0),
        edge: about.edges.iter().position(is_it)?,
        sequence: dropped.sequence,
        frame: 0,
        at_ns: dropped.at_ns,
    })
}

/// The note of a problem, if its kind is known.
pub(super) fn problem(trouble: &Trouble) -> Option<Note> {
    let kinds = [
        ProblemKind::Failed,
        ProblemKind::BadMessage,
        ProblemKind::TimedOut,
        ProblemKind::Slow,
        ProblemKind::Hang,
        ProblemKind::Crashed,
        ProblemKind::RestartFailed,
    ];
    let problem = Problem {
        kind: kinds.into_iter().find(|it| it.word() == &*trouble.kind)?,
        stage: trouble.stage.to_string(),
        plugin: trouble.plugin.to_string(),
        message: None,
        text: trouble.text.clone(),
    };
    Some(Note::Problem {
        problem: Box::new(problem),
        at_ns: trouble.at_ns,
    })
}

fn stage(about: &About, name: &str) -> Option<usize> {
    about.stages.iter().position(|it| it.name == name)
}

fn output(about: &About, name: &str, output: &str) -> Option<PortRef> {
    let stage = stage(about, name)?;
    let mut outputs = about.stages[stage].outputs.iter();
    let port = outputs.position(|(it, _)| it == output)?;
    Some(PortRef { stage, port })
}
