//! What a stage may know of the run that it is part of, and ask of it.

use std::sync::Arc;

use serde::Serialize;

use crate::instance::StageProcess;

/// A run, as its stages see it.
pub trait RunContext: Send + Sync {
    /// How far the run is on its way to the end.
    fn mode(&self) -> Mode;

    /// Whether stages must change nothing outside of the program.
    fn is_dry(&self) -> bool;

    /// A stage ends the run. The first one counts.
    fn end(&self, ended: Ended);

    /// Reports each change of [`Self::mode`] to the process of a stage, from now on.
    fn follow(&self, process: &Arc<dyn StageProcess>);
}

/// How far a run is on its way to the end. Never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It runs.
    #[default]
    Run = 0,
    /// Sources end; the queues are drained.
    Drain = 1,
    /// Every stage ends after the message in hand.
    Drop = 2,
    /// The message in hand is cancelled too.
    Abort = 3,
}

/// A stage ended the run on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Its name in the pipeline.
    pub stage: String,
    /// How.
    pub how: Ending,
    /// Why, in words.
    pub reason: String,
}

/// How a stage ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// What was to be done is done.
    Done,
    /// A person, or what protects one, said stop.
    Stopped,
}
