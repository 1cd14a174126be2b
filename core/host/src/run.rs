//! The run as its stages see it.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A run, as its stages see it.
pub trait RunContext: Send + Sync {
    /// The run's mode: how far it is on its way to the end.
    fn mode(&self) -> Mode;

    /// Whether stages must change nothing outside of the program.
    fn is_dry(&self) -> bool;

    /// A stage ends the run. The first call counts.
    fn end(&self, ended: Ended);

    /// Forwards each change of [`Self::mode`] to the process of a stage, from now on.
    fn follow(&self, process: &Arc<dyn StageProcess>);
}

/// The process of a stage, to kill it or to cancel its work. Any thread may call its functions.
pub trait StageProcess: Send + Sync + Debug {
    /// Its process id.
    fn id(&self) -> u32;

    /// The name of its stage, and the bytes of memory that it has resident. `None`: it is none of this machine, has ended, or
    /// the system does not say.
    fn resident_bytes(&self) -> Option<(&str, u64)> {
        None
    }

    /// Whether a call is in progress.
    fn is_busy(&self) -> bool;

    /// Kills it because its call does not return, unless the call has just returned. `why` is the reason in reports.
    fn kill(&self, why: &str);

    /// Sets the run's mode.
    fn set_mode(&self, mode: Mode);

    /// A call of this number starts.
    fn set_call(&self, call: u64);

    /// Cancels the work of a call: its number shifted left by two, and the reason's number. 0: no call is cancelled.
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
    /// Every stage ends after its current message.
    Drop = 2,
    /// The current messages are cancelled too.
    Abort = 3,
}

impl Mode {
    /// Whether a stage has to end after its current call.
    #[must_use]
    pub fn ends(self, is_source: bool) -> bool {
        self >= Self::Drop || self == Self::Drain && is_source
    }

    /// Whether the current call of a stage is cancelled.
    #[must_use]
    pub fn cancels(self, is_source: bool) -> bool {
        self == Self::Abort || self >= Self::Drain && is_source
    }
}

/// A stage ended the run on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its name in the pipeline.
    pub stage: String,
    /// How.
    pub how: Ending,
    /// Why.
    pub reason: String,
}

/// How a stage ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The task is done.
    Done,
    /// A person or a safeguard stopped it.
    Stopped,
}
