//! How a change of the pipeline is recorded.

use flowpipe_config::pipeline::{Contestant, Pipeline, Stage};
use flowpipe_engine::run::{PipelineChange, StageChangeKind};
use flowpipe_host::catalogue::Found;
use flowpipe_recording::entry::{AboutStage, Change, ChangedStage};
use serde_json::Value;

use crate::record::about::{about_edge, about_stage};

/// A change to be recorded. The recorder's thread reads the plugins' files for it.
#[derive(Clone)]
pub(crate) struct PendingChange {
    text: String,
    /// By the run's clock.
    pub at_ns: i64,
    /// With removed stages and edges.
    pipeline: Pipeline,
    /// By stage.
    found: Vec<Vec<Found>>,
    /// Whether each edge is part of the pipeline.
    live_edges: Vec<bool>,
    /// The index of each changed stage, and how it changed.
    stages: Vec<(usize, ChangeKind)>,
}

#[derive(Clone, Copy)]
struct ChangeKind {
    added: bool,
    removed: bool,
    other: bool,
}

impl PendingChange {
    pub(crate) fn new(change: &PipelineChange<'_>) -> Self {
        let pipeline = change.pipeline();
        let how = |what: &[StageChangeKind]| ChangeKind {
            added: what
                .iter()
                .any(|it| matches!(it, StageChangeKind::Added(_))),
            removed: what.contains(&StageChangeKind::Removed),
            other: what.iter().any(|it| {
                let stays = matches!(
                    it,
                    StageChangeKind::Removed
                        | StageChangeKind::From
                        | StageChangeKind::Queue
                        | StageChangeKind::State
                );
                !stays && !matches!(it, StageChangeKind::Added(_))
            }),
        };
        let changed = change.changes.stages.iter();
        Self {
            text: change.changes.to_string(),
            at_ns: change.now_ns,
            found: (0..pipeline.stages.len())
                .map(|stage| change.plugins(stage).to_vec())
                .collect(),
            live_edges: change.edges(),
            pipeline,
            stages: changed.map(|it| (it.index, how(&it.what))).collect(),
        }
    }

    /// The stages and queues by index, without what is read from files.
    pub(crate) fn names(
        &self,
    ) -> (
        Vec<AboutStage>,
        Vec<Option<flowpipe_recording::entry::AboutEdge>>,
    ) {
        let stages = self.pipeline.stages.iter().zip(&self.found);
        let stages: Vec<_> = stages
            .map(|(stage, found)| {
                let first: Vec<_> = found.iter().take(1).map(Some).collect();
                let mut bare = stage.clone();
                bare.contestants.clear();
                about_stage(&bare, &first)
            })
            .collect();
        let edges = self.pipeline.edges.iter();
        let edges = edges.map(|edge| about_edge(&stages, edge)).collect();
        (stages, edges)
    }

    /// Estimated bytes.
    pub(crate) fn size(&self) -> usize {
        let stage = |stage: &Stage| {
            let contestants = stage.contestants.iter();
            let contestants = contestants
                .map(|it| size_of::<Contestant>() + it.plugin.len() + value_size(&it.config));
            size_of::<Stage>() + stage.name.len() + contestants.sum::<usize>()
        };
        let found = |found: &Found| {
            let manifest = serde_json::to_value(&found.manifest);
            size_of::<Found>() + manifest.as_ref().map_or(0, value_size)
        };
        let stages: usize = self.pipeline.stages.iter().map(stage).sum();
        let plugins: usize = self.found.iter().flatten().map(found).sum();
        let edges = size_of_val(&*self.pipeline.edges) + self.live_edges.len();
        self.text.len() + stages + plugins + edges + size_of_val(&*self.stages)
    }

    /// The entry to write. Reads the plugins' files, to hash them.
    pub(crate) fn entry(&self) -> Change {
        let stage = |(index, how): &(usize, ChangeKind)| {
            let settings = self.pipeline.stages.get(*index)?;
            let found: Vec<_> = self.found.get(*index)?.iter().map(Some).collect();
            Some(ChangedStage {
                stage: about_stage(settings, &found),
                added: how.added,
                removed: how.removed,
                other: how.other,
            })
        };
        let (_, edges) = self.names();
        let edges = edges.into_iter().zip(&self.live_edges);
        Change {
            text: self.text.clone(),
            at_ns: self.at_ns,
            stages: self.stages.iter().filter_map(stage).collect(),
            edges: edges
                .filter_map(|(edge, is_live)| edge.filter(|_| *is_live))
                .collect(),
        }
    }
}

/// Estimated bytes of a value.
fn value_size(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(value_size).sum(),
        Value::Object(members) => {
            let members = members.iter();
            let size =
                |(key, value): (&String, _)| size_of::<String>() + key.len() + value_size(value);
            members.map(size).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + content
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use flowpipe_config::pipeline::{Isolation, OnError, OnStop};
    use serde_json::json;

    use super::*;
    use crate::record::Item;
    use crate::record::item_size::size_without_pixels;

    #[test]
    fn the_configs_of_a_change_take_room() {
        let stage = Stage {
            name: "screen".into(),
            contestants: vec![Contestant {
                plugin: "capture".into(),
                config: json!({ "texts": ["x".repeat(10_000)] }),
                revision: 0,
            }],
            timeout: None,
            on_error: OnError::Stop,
            watchdog: Duration::from_secs(10),
            isolation: Isolation::Thread,
            restart: None,
            fresh: false,
            workers: 1,
            ordered: true,
        };
        let change = PendingChange {
            text: "x".repeat(1_000),
            at_ns: 0,
            pipeline: Pipeline {
                name: "one".into(),
                stages: vec![stage],
                edges: Vec::new(),
                on_stop: OnStop::Drain,
                machines: flowpipe_config::pipeline::Machines::default(),
                record: None,
            },
            found: Vec::new(),
            live_edges: Vec::new(),
            stages: Vec::new(),
        };
        let size = size_without_pixels(&Item::Change(Box::new(change)));
        assert!((11_000..13_000).contains(&size), "{size}");
    }
}
