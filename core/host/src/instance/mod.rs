//! One instance of a plugin's stage, whatever process it runs in.

mod in_process;
pub mod state;

use std::sync::Arc;
use std::time::Duration;

use flowpipe_abi as abi;
pub use in_process::InProcess;
pub use state::State;

use crate::problem::ProblemKind;
use crate::run::{RunContext, StageProcess};
use crate::table::Host;

/// An instance, owned by whoever calls it.
pub type Instance = Box<dyn StageInstance>;

/// What the engine calls of an instance. Dropping one without [`Self::destroy`] leaves the plugin's side alive: what is
/// right for an instance that hangs.
///
/// The threads are those of the ABI: `process` and `reset` belong to the stage's thread, everything else to the control
/// thread.
pub trait StageInstance: Send {
    /// Gets it ready. `run` is what it is part of.
    ///
    /// # Errors
    /// Why it refuses, in words.
    fn activate(&mut self, run: &dyn RunContext) -> Result<(), String>;

    /// Lets it work.
    ///
    /// # Safety
    /// The call is one as the ABI describes: all that it points at lives, and its context is null or a
    /// [`CallHandle`](crate::call::CallHandle) that lives until this returns.
    unsafe fn process(&mut self, process: &abi::Process) -> abi::Status;

    /// Makes it forget what earlier messages left behind.
    fn reset(&mut self) -> abi::Status;

    /// Ends it.
    fn destroy(self: Box<Self>);

    /// The host that it sees.
    fn host(&self) -> &Host;

    /// Whether it can transfer its state to another instance, and accept that of another.
    ///
    /// # Errors
    /// Why its process did not answer, in words.
    fn has_state(&mut self, limits: &Limits<'_>) -> Result<bool, String>;

    /// Its state. `None`: it has none that it can transfer.
    ///
    /// # Errors
    /// Why it failed, in words.
    fn save(&mut self, limits: &Limits<'_>) -> Result<Option<State>, String>;

    /// Has it continue with the state of another. False: it does not know the format.
    ///
    /// # Errors
    /// Why it failed, in words.
    fn load(&mut self, state: &State, limits: &Limits<'_>) -> Result<bool, String>;

    /// Its process, where it has one of its own.
    fn stage_process(&self) -> Option<Arc<dyn StageProcess>> {
        None
    }

    /// How its process ended, where it has one of its own that has.
    fn death(&self) -> Option<&Death> {
        None
    }
}

impl dyn StageInstance {
    /// As [`StageInstance::death`], as a problem.
    #[must_use]
    pub fn crash(&self) -> Option<(ProblemKind, &str)> {
        let death = self.death()?;
        let kind = match death.hung {
            true => ProblemKind::Hang,
            false => ProblemKind::Crashed,
        };
        Some((kind, &death.text))
    }
}

/// How long a call outside of `process` may take in a process of its own: it is killed after `patience`, or when the run is
/// aborted.
pub struct Limits<'a> {
    /// The run that the stage is part of.
    pub run: &'a dyn RunContext,
    /// How long the call may take.
    pub patience: Duration,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// It was killed because it hung.
    pub hung: bool,
    /// In words.
    pub text: String,
}
