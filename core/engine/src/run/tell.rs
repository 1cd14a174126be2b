//! Tells those who watch of a plugin's work: observers, and whoever listens to `tracing`.

use flowpipe_recording::entry::Event;
use tracing::Span;

use crate::run::stage::Stage;
use crate::run::task::{Completion, Task, TaskResult};
use crate::run::worker::{Outcome, Work};

impl Stage {
    /// The span of one call, at the level `TRACE`: where nobody listens to that, it costs a look at a number.
    pub(crate) fn span(&self, contestant: usize, work: &Work) -> Span {
        tracing::trace_span!(
            "stage",
            name = self.settings.name,
            plugin = self.plugin(contestant),
            event = word(work.kind()),
            port = work
                .message
                .as_ref()
                .and_then(|(port, _)| self.inputs.get(*port))
                .map(String::as_str),
            sequence = work
                .message
                .as_ref()
                .map(|(_, message)| message.lineage.sequence),
            frame = work.origin.map(|origin| origin.sequence),
        )
    }

    /// Tells that a plugin begins to work, where somebody wants to know.
    pub(crate) fn begins<'a>(&self, plugin: usize, work: &'a Work) -> Option<Task<'a>> {
        if !self.run.reports_tasks {
            return None;
        }
        let task = Task {
            stage: self.index,
            plugin,
            event: work.kind(),
            taken: work
                .message
                .as_ref()
                .map(|(port, message)| (*port, &**message)),
            origin: work.origin,
            began_ns: self.run.now(),
        };
        for observer in &self.run.observers {
            observer.begins(&task);
        }
        Some(task)
    }

    /// Tells that it has come back.
    pub(crate) fn worked(&self, task: &Task<'_>, waited_ns: i64, emitted: u64, outcome: &Outcome) {
        let worked = Completion {
            ended_ns: self.run.now(),
            waited_ns,
            emitted,
            result: match outcome {
                Outcome::Fine | Outcome::End => TaskResult::Done,
                Outcome::Stopped | Outcome::GivenUp => TaskResult::Stopped,
                Outcome::Lost => TaskResult::Lost,
                Outcome::Failed(_, text) => TaskResult::Failed(text),
            },
        };
        for observer in &self.run.observers {
            observer.worked(task, &worked);
        }
    }
}

/// What a call is for, as spans and traces have it.
pub fn word(event: Event) -> &'static str {
    match event {
        Event::Message => "message",
        Event::Finish => "finish",
        Event::Tick => "tick",
    }
}
