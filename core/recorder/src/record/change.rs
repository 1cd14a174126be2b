//! How a change of the pipeline is written down.

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::{LineUp, What};
use flowpipe_host::catalogue::Found;
use flowpipe_recording::entry::{AboutStage, Change, ChangedStage};

use crate::record::about::{about_edge, about_stage};

/// A change, before files are read for it: that is left to the thread that writes.
#[derive(Clone)]
pub(crate) struct Changing {
    text: String,
    /// By the run's clock.
    pub at_ns: i64,
    /// With what was taken out.
    pipeline: Pipeline,
    /// By stage.
    found: Vec<Vec<Found>>,
    /// Whether each edge is part of the pipeline.
    carries: Vec<bool>,
    /// The number of each stage that changed, and how.
    stages: Vec<(usize, How)>,
}

#[derive(Clone, Copy)]
struct How {
    added: bool,
    removed: bool,
    other: bool,
}

impl Changing {
    pub(crate) fn new(line: &LineUp<'_>) -> Self {
        let pipeline = line.pipeline();
        let how = |what: &[What]| How {
            added: what.iter().any(|it| matches!(it, What::Added(_))),
            removed: what.contains(&What::Removed),
            other: what.iter().any(|it| {
                let stays = matches!(it, What::Removed | What::From | What::Queue | What::State);
                !stays && !matches!(it, What::Added(_))
            }),
        };
        let changed = line.changes.stages.iter();
        Self {
            text: line.changes.to_string(),
            at_ns: line.now_ns,
            found: (0..pipeline.stages.len())
                .map(|stage| line.plugins(stage).to_vec())
                .collect(),
            carries: line.edges(),
            pipeline,
            stages: changed.map(|it| (it.index, how(&it.what))).collect(),
        }
    }

    /// The stages and queues by their numbers, without what is read from files.
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

    /// As it is written. Reads the plugins' files, for their hashes.
    pub(crate) fn entry(&self) -> Change {
        let stage = |(index, how): &(usize, How)| {
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
        let edges = edges.into_iter().zip(&self.carries);
        Change {
            text: self.text.clone(),
            at_ns: self.at_ns,
            stages: self.stages.iter().filter_map(stage).collect(),
            edges: edges
                .filter_map(|(edge, carries)| edge.filter(|_| *carries))
                .collect(),
        }
    }
}
