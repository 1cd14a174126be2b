//! What has changed in a run.

use std::fmt;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Found;

use crate::run::reload::live::LivePipeline;

/// What was changed. Its text is one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// By stage.
    pub stages: Vec<Changed>,
    /// Keys of the pipeline itself that are taken up.
    pub keys: Vec<&'static str>,
    /// Keys that differ and count from the next run on.
    pub later: Vec<&'static str>,
}

/// What changed of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub stage: String,
    /// Its number in the run, which it keeps.
    pub index: usize,
    /// What.
    pub what: Vec<What>,
}

/// What can change of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Added(Vec<String>),
    /// It is taken out.
    Removed,
    /// Other plugins.
    Plugins {
        /// Before.
        before: Vec<String>,
        /// From now on.
        after: Vec<String>,
    },
    /// The plugin comes from another file, or its file is another one.
    File,
    /// The config of a plugin.
    Config,
    /// A setting of the stage, by its key: `timeout` and so on.
    Setting(&'static str),
    /// What feeds it.
    From,
    /// The queue of what feeds it.
    Queue,
    /// A plugin's state was handed over to the one in its place.
    State,
    /// Nothing else: its process ended while its state was asked for, and it begins with nothing.
    Anew,
}

/// A run as it is from now on, with all the stages and edges that it has had by their numbers.
pub struct LineUp<'a> {
    pub(crate) live: &'a LivePipeline,
    /// What is new.
    pub changes: &'a Changes,
    /// When, by the run's clock.
    pub now_ns: i64,
}

impl LineUp<'_> {
    /// The pipeline, with the stages and edges that were taken out: those have no plugin to do with it any more, and keep
    /// their numbers.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline {
        let stages = self.live.stages.iter();
        let edges = self.live.edges.iter();
        Pipeline {
            name: self.live.name.clone(),
            stages: stages.map(|it| it.stage.settings.clone()).collect(),
            edges: edges.map(|it| it.edge).collect(),
            on_stop: flowpipe_config::pipeline::OnStop::default(),
            record: None,
        }
    }

    /// The plugins of a stage.
    #[must_use]
    pub fn plugins(&self, stage: usize) -> &[Found] {
        let live_stage = self.live.stages.get(stage);
        live_stage.map_or(&[], |it| &it.found)
    }

    /// By number, whether an edge is part of the pipeline.
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
        self.stages.is_empty() && self.keys.is_empty() && self.later.is_empty()
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().map(ToString::to_string);
        let keys = self.keys.iter().map(|key| (*key).to_owned());
        let all: Vec<_> = stages.chain(keys).collect();
        f.write_str(&all.join(", "))?;
        if !self.later.is_empty() {
            let comma = if all.is_empty() { "" } else { "; " };
            write!(f, "{comma}from the next run on: {}", self.later.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what: Vec<_> = self.what.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.stage, what.join(", "))
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(plugins) => write!(f, "added: {}", plugins.join(" | ")),
            Self::Removed => f.write_str("removed"),
            Self::Plugins { before, after } => {
                write!(f, "{} -> {}", before.join(" | "), after.join(" | "))
            }
            Self::File => f.write_str("new file"),
            Self::Config => f.write_str("config"),
            Self::Setting(key) => f.write_str(key),
            Self::From => f.write_str("from"),
            Self::Queue => f.write_str("queue"),
            Self::State => f.write_str("state kept"),
            Self::Anew => f.write_str("made anew"),
        }
    }
}
