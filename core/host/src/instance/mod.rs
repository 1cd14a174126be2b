//! One instance of a plugin's stage, in any process.

pub(crate) mod in_process;
pub mod state;

use std::sync::Arc;
use std::time::Duration;

use flowpipe_abi as abi;
pub use in_process::InProcess;
pub use state::State;

use crate::problem::ProblemKind;
use crate::run::{RunContext, StageProcess};
use crate::table::Host;
use crate::table::status::reason;

/// Why an instance could not be created or activated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The plugin refuses the config.
    #[error("the config can't be used: {0}")]
    BadConfig(String),
    /// Something else is missing or failed, such as the display.
    #[error("{0}")]
    Failed(String),
}

impl CreateError {
    /// Why an instance could not be activated, of the negative status of the plugin and the error that it reported.
    #[must_use]
    pub fn of_activation(status: abi::Status, host: &Host) -> Self {
        if status != abi::BAD_CONFIG {
            return Self::Failed(reason(status, host));
        }
        let text = host.take_error().map(|(_, text)| text);
        let text = text.filter(|text| !text.trim().is_empty());
        Self::BadConfig(text.unwrap_or_else(|| "the plugin gave no reason".to_owned()))
    }
}

impl From<String> for CreateError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// An instance, owned by its caller.
pub type Instance = Box<dyn StageInstance>;

/// The engine's interface to an instance. Dropping one without [`Self::destroy`] leaks the plugin's side, which is
/// right for an instance that hangs.
///
/// The threads are those of the ABI: `process` and `reset` belong to the stage's thread, everything else to the control
/// thread.
pub trait StageInstance: Send {
    /// Activates it. `run` is the run that it is part of.
    ///
    /// # Errors
    /// Why it refuses.
    fn activate(&mut self, run: &dyn RunContext) -> Result<(), CreateError>;

    /// Processes one message.
    ///
    /// # Safety
    /// The call is one as the ABI describes: all that it points at is valid, and its context is null or a
    /// [`CallHandle`](crate::call::CallHandle) that is valid until this returns.
    unsafe fn process(&mut self, process: &abi::Process) -> abi::Status;

    /// Drops the state that earlier messages left.
    fn reset(&mut self) -> abi::Status;

    /// Deactivates and destroys it.
    fn destroy(self: Box<Self>);

    /// Its host.
    fn host(&self) -> &Host;

    /// Whether it can transfer its state to another instance, and load that of another.
    ///
    /// # Errors
    /// Why its process did not answer.
    fn has_state(&mut self, limits: &Limits<'_>) -> Result<bool, String>;

    /// Saves its state. `None`: it has no transferable state.
    ///
    /// # Errors
    /// Why it failed.
    fn save(&mut self, limits: &Limits<'_>) -> Result<Option<State>, String>;

    /// Continues with the state of another instance. False: it does not know the format.
    ///
    /// # Errors
    /// Why it failed.
    fn load(&mut self, state: &State, limits: &Limits<'_>) -> Result<bool, String>;

    /// Its process, if it has its own.
    fn stage_process(&self) -> Option<Arc<dyn StageProcess>> {
        None
    }

    /// How its process ended, if it had its own and that has ended.
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

/// The limit of a call outside of `process` to a stage in its own process: the process is killed after `patience`, or
/// when the run is aborted.
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
    /// The description.
    pub text: String,
}
