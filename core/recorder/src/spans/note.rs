//! What is noted of a call on a stage's thread, and the spans that it becomes.

use std::collections::BTreeSet;
use std::sync::Arc;

use flowpipe_config::pipeline::{Pipeline, PortRef};
use flowpipe_engine::run::{TaskResult, event_name};
use flowpipe_host::message::Message;
use flowpipe_recording::entry::Event;

use super::{Span, TakenMessage, ids};
use crate::backlog::Queueable;
use crate::record::lineages::MessageKey;

/// A note for the sink's thread.
pub(super) enum SpanNote {
    /// A call has returned.
    Call(Box<CallNote>),
    /// A reload has changed the stages.
    Stages(Arc<[StageNames]>),
    /// The run is over.
    Over,
}

/// A call that has returned.
pub(super) struct CallNote {
    pub stage: usize,
    pub plugin: usize,
    pub worker: usize,
    pub event: Event,
    pub taken: Option<TakenNote>,
    pub frame: Option<u64>,
    pub taken_ns: i64,
    pub ended_ns: i64,
    pub waited_ns: i64,
    pub emitted: u64,
    pub result: CallResult,
    /// The messages without ancestors that it emitted.
    pub roots: Vec<MessageKey>,
    pub marks: Vec<(String, i64)>,
}

/// The message that a call took.
pub(super) struct TakenNote {
    pub key: MessageKey,
    /// Its first ancestor, or itself.
    pub root: MessageKey,
    /// The stage that emitted it, and when that took what it made it from.
    pub hop: Option<(usize, i64)>,
    pub emitted_ns: i64,
}

/// How a call ended.
pub(super) enum CallResult {
    Done,
    Stopped,
    Lost,
    Failed(String),
}

/// The names of a stage.
pub(super) struct StageNames {
    name: String,
    plugins: Vec<String>,
    has_workers: bool,
}

impl StageNames {
    pub(super) fn of(pipeline: &Pipeline) -> Arc<[Self]> {
        let stages = pipeline.stages.iter().map(|stage| Self {
            name: stage.name.clone(),
            plugins: stage
                .contestants
                .iter()
                .map(|it| it.plugin.clone())
                .collect(),
            has_workers: stage.workers > 1,
        });
        stages.collect()
    }
}

impl TakenNote {
    pub(super) fn of(message: &Message) -> Self {
        let hop = message.lineage().hops.last();
        Self {
            key: message.key(),
            root: message.root(),
            hop: hop.map(|hop| (hop.stage as usize, hop.taken_ns)),
            emitted_ns: message.emitted_ns(),
        }
    }
}

impl CallResult {
    fn as_task(&self) -> TaskResult<'_> {
        match self {
            Self::Done => TaskResult::Done,
            Self::Stopped => TaskResult::Stopped,
            Self::Lost => TaskResult::Lost,
            Self::Failed(text) => TaskResult::Failed(text),
        }
    }
}

impl CallNote {
    /// The spans of the call: one, or one in each trace that begins with a message of it. A call that took nothing, emitted
    /// nothing and did not fail has none: nothing descends from it.
    pub(super) fn spans(
        &self,
        names: &[StageNames],
        (run, elsewhere): (u128, &BTreeSet<usize>),
        mut give: impl FnMut(&Span<'_>),
    ) {
        let Some(stage) = names.get(self.stage) else {
            return;
        };
        let is_failed = matches!(self.result, CallResult::Failed(_));
        // In the place of a message: no stage has such an output.
        let no_output = PortRef {
            stage: self.stage,
            port: usize::MAX,
        };
        let alone = (no_output, self.taken_ns as u64);
        let (which, roots) = match &self.taken {
            Some(taken) => (self.which(), std::slice::from_ref(&taken.root)),
            None if is_failed && self.roots.is_empty() => {
                (self.which(), std::slice::from_ref(&alone))
            }
            None => (0, &*self.roots),
        };
        for &root in roots {
            let taken = self.taken.as_ref();
            let parent = taken.and_then(|it| it.hop);
            let parent = parent.filter(|(stage, _)| !elsewhere.contains(stage));
            give(&Span {
                trace: ids::trace(run, root),
                id: ids::span(run, root, self.stage, self.taken_ns, which),
                parent: parent.map(|(stage, taken_ns)| ids::span(run, root, stage, taken_ns, 0)),
                stage: &stage.name,
                plugin: stage.plugins.get(self.plugin).map_or("", |it| it),
                worker: stage.has_workers.then_some(self.worker + 1),
                event: event_name(self.event),
                taken: taken.map(|taken| TakenMessage {
                    from: names.get(taken.key.0.stage).map_or("", |it| &it.name),
                    sequence: taken.key.1,
                    queued_ns: self.taken_ns.saturating_sub(taken.emitted_ns).max(0),
                }),
                frame: self.frame.filter(|frame| *frame > 0),
                began_ns: self.taken_ns,
                ended_ns: self.ended_ns.max(self.taken_ns),
                waited_ns: self.waited_ns,
                emitted: self.emitted,
                result: self.result.as_task(),
                marks: &self.marks,
            });
        }
    }

    /// 0 for a call that emitted something, which others of the same stage and time did not: of plugins that race, one wins.
    fn which(&self) -> u64 {
        let is_parent = self.emitted > 0 && !matches!(self.result, CallResult::Lost);
        match is_parent {
            true => 0,
            false => 1 + self.plugin as u64 + ((self.worker as u64) << 32),
        }
    }
}

impl Queueable for SpanNote {
    fn owned_bytes(&self) -> usize {
        match self {
            Self::Call(call) => {
                let marks: usize = call.marks.iter().map(|(name, _)| name.len()).sum();
                let failed = match &call.result {
                    CallResult::Failed(text) => text.len(),
                    _ => 0,
                };
                size_of::<CallNote>()
                    + size_of_val(&*call.roots)
                    + size_of_val(&*call.marks)
                    + marks
                    + failed
            }
            Self::Stages(_) | Self::Over => 0,
        }
    }
}
