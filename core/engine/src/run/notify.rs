//! Reports a plugin's calls to observers and to `tracing`.

use tracing::Span;

use crate::run::outcome::Outcome;
use crate::run::stage::Stage;
use crate::run::task::{Completion, Task, TaskResult, event_name};
use crate::run::work::Work;
use crate::supervisor::Slot;

/// The span of one call, at the level `TRACE`. Without a subscriber for that level, it costs one atomic load.
pub(crate) fn span(stage: &Stage, slot: Slot, work: &Work) -> Span {
    tracing::trace_span!(
        "stage",
        name = stage.settings.name,
        plugin = stage.plugin(slot.contestant),
        worker = (stage.settings.workers > 1).then_some(slot.worker + 1),
        event = event_name(work.kind()),
        port = work
            .message
            .as_ref()
            .and_then(|(port, _)| stage.inputs.get(*port))
            .map(|input| input.name.as_str()),
        sequence = work
            .message
            .as_ref()
            .map(|(_, message)| message.lineage.sequence),
        frame = work.descent.origin.map(|origin| origin.sequence),
    )
}

/// Reports to observers that a call starts. `None`: no observer wants tasks.
pub(crate) fn task_started<'a>(stage: &Stage, slot: Slot, work: &'a Work) -> Option<Task<'a>> {
    if !stage.run.reports_tasks {
        return None;
    }
    let task = Task {
        stage: stage.index,
        plugin: slot.contestant,
        worker: slot.worker,
        event: work.kind(),
        taken: work
            .message
            .as_ref()
            .map(|(port, message)| (*port, &**message)),
        origin: work.descent.origin,
        taken_ns: work.taken_ns,
        began_ns: stage.run.now(),
    };
    for observer in &stage.run.observers {
        observer.task_started(&task);
    }
    Some(task)
}

/// Reports to observers that a call has returned.
pub(crate) fn task_finished(
    stage: &Stage,
    task: &Task<'_>,
    waited_ns: i64,
    emitted: u64,
    outcome: &Outcome,
) {
    let completion = Completion {
        ended_ns: stage.run.now(),
        waited_ns,
        emitted,
        result: match outcome {
            Outcome::Fine | Outcome::End => TaskResult::Done,
            Outcome::Stopped | Outcome::Abandoned => TaskResult::Stopped,
            Outcome::Lost => TaskResult::Lost,
            Outcome::Failed(_, text) => TaskResult::Failed(text),
        },
    };
    for observer in &stage.run.observers {
        observer.task_finished(task, &completion);
    }
}
