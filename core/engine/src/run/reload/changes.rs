//! The changes of a reload.

use std::fmt;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Found;

use crate::check::CheckChange;
use crate::run::reload::live::LivePipeline;

/// The changes of a reload. `Display` gives one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// By stage.
    pub stages: Vec<StageChanges>,
    /// Checks that judge from the next message on.
    pub checks: Vec<CheckChange>,
    /// Changed keys of the pipeline itself that take effect now.
    pub keys: Vec<&'static str>,
    /// Changed keys that take effect in the next run.
    pub later: Vec<&'static str>,
}

/// The changes of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageChanges {
    /// Its name.
    pub stage: String,
    /// Its index in the run, which never changes.
    pub index: usize,
    /// Its changes.
    pub what: Vec<StageChangeKind>,
}

/// A change of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageChangeKind {
    /// It is new.
    Added(Vec<String>),
    /// It is removed.
    Removed,
    /// Other plugins.
    Plugins {
        /// The previous plugins.
        before: Vec<String>,
        /// The new plugins.
        after: Vec<String>,
    },
    /// The plugin's library is another file, or has changed.
    File,
    /// The config of a plugin.
    Config,
    /// A script that the config of a plugin names.
    Script,
    /// A setting of the stage, by its key: `timeout` and so on.
    Setting(&'static str),
    /// Its inputs.
    From,
    /// The queue of an input.
    Queue,
    /// The state of a plugin was transferred to its replacement.
    State,
    /// Nothing else: its process ended while its state was saved. It restarts with no state.
    Restarted,
}

/// A change of a running pipeline, with all the stages and edges that the run has had, by index.
pub struct PipelineChange<'a> {
    pub(crate) live: &'a LivePipeline,
    /// The changes.
    pub changes: &'a Changes,
    /// When it takes effect, by the run's clock.
    pub now_ns: i64,
}

impl PipelineChange<'_> {
    /// The pipeline after the change. It includes removed stages and edges, which keep their indices.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline {
        let stages = self.live.stages.iter();
        let edges = self.live.edges.iter();
        Pipeline {
            name: self.live.name.clone(),
            stages: stages.map(|it| it.stage.settings.clone()).collect(),
            edges: edges.map(|it| it.edge).collect(),
            on_stop: flowpipe_config::pipeline::OnStop::default(),
            machines: flowpipe_config::pipeline::Machines::default(),
            record: None,
        }
    }

    /// The plugins of a stage.
    #[must_use]
    pub fn plugins(&self, stage: usize) -> &[Found] {
        let live_stage = self.live.stages.get(stage);
        live_stage.map_or(&[], |it| &it.found)
    }

    /// By index, whether an edge is part of the pipeline.
    #[must_use]
    pub fn edges(&self) -> Vec<bool> {
        self.live.edges.iter().map(|it| it.is_live).collect()
    }

    /// Whether a stage is part of the pipeline.
    #[must_use]
    pub fn has(&self, stage: usize) -> bool {
        let live_stage = self.live.stages.get(stage);
        live_stage.is_some_and(|it| it.is_live)
    }
}

impl Changes {
    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
            && self.checks.is_empty()
            && self.keys.is_empty()
            && self.later.is_empty()
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().map(ToString::to_string);
        let keys = self.keys.iter().map(|key| (*key).to_owned());
        let checks = self.checks.iter().map(ToString::to_string);
        let all: Vec<_> = stages.chain(checks).chain(keys).collect();
        f.write_str(&all.join(", "))?;
        if !self.later.is_empty() {
            let comma = if all.is_empty() { "" } else { "; " };
            write!(f, "{comma}from the next run on: {}", self.later.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for StageChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what: Vec<_> = self.what.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.stage, what.join(", "))
    }
}

impl fmt::Display for StageChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(plugins) => write!(f, "added: {}", plugins.join(" | ")),
            Self::Removed => f.write_str("removed"),
            Self::Plugins { before, after } => {
                write!(f, "{} -> {}", before.join(" | "), after.join(" | "))
            }
            Self::File => f.write_str("new file"),
            Self::Config => f.write_str("config"),
            Self::Script => f.write_str("script"),
            Self::Setting(key) => f.write_str(key),
            Self::From => f.write_str("from"),
            Self::Queue => f.write_str("queue"),
            Self::State => f.write_str("state kept"),
            Self::Restarted => f.write_str("restarted"),
        }
    }
}
