//! What a stage may know of the run that it is part of, and ask of it.

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;

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

/// The process of a stage, for whoever has to kill it or to cancel its work. Any thread may do that.
pub trait StageProcess: Send + Sync + Debug {
    /// Its number in the system.
    fn id(&self) -> u32;

    /// Whether a call is in progress.
    fn is_busy(&self) -> bool;

    /// Kills it because its call does not come back, unless it just has.
    fn kill(&self, why: &str);

    /// The run is so far on its way to the end.
    fn set_mode(&self, mode: Mode);

    /// A call of this number begins.
    fn set_call(&self, call: u64);

    /// The work of a call is cancelled: its number shifted by two, and the reason's number. 0: of none.
    fn set_cancelled(&self, cancelled: u64);
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
