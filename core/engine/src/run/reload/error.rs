//! Why a running pipeline could not be changed.

use crate::run::error::StartError;

/// Why a running pipeline could not be changed. It continues unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The new pipeline, or one of its plugins, failed to start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The new plugin of a stage has other ports than the running one.
    #[error(
        "stage \"{stage}\": the inputs or outputs of {plugin} differ from those of {before}, and can't change while the stage runs; give the stage another name to add a new one"
    )]
    Ports {
        /// The stage's name.
        stage: String,
        /// The new plugin.
        plugin: String,
        /// The plugin that runs or ran.
        before: String,
    },
    /// A stage to be changed has ended.
    #[error("stage \"{stage}\" has ended already and can't be changed any more")]
    Ended {
        /// The stage's name.
        stage: String,
    },
    /// A stage of that name was removed before, and has not ended yet.
    #[error(
        "stage \"{stage}\" was removed and is still draining its queue: try again when it has ended"
    )]
    Leaving {
        /// The stage's name.
        stage: String,
    },
    /// A stage did not pause in time.
    #[error("stage \"{stage}\" does not return from its current call and can't be replaced")]
    Busy {
        /// The stage's name.
        stage: String,
    },
    /// Another plugin does not return from being created or destroyed.
    #[error(
        "a plugin does not return from being created or destroyed, so that no other can be: try again later"
    )]
    CallsBusy,
    /// A plugin failed to save or load its state.
    #[error("stage \"{stage}\": {plugin} failed to {step} the state: {reason}")]
    State {
        /// The stage's name.
        stage: String,
        /// The plugin.
        plugin: String,
        /// `save` or `load`.
        step: &'static str,
        /// The plugin's error.
        reason: String,
    },
    /// There are too many stages.
    #[error("no more than {0} stages can be added to a run")]
    TooMany(usize),
    /// The run is a replay.
    #[error("a replay can't be changed")]
    Replay,
    /// Other machines run stages of the pipeline.
    #[error("a run on several machines can't be changed")]
    Machines,
    /// The run is ending or over.
    #[error("the run is ending")]
    Ending,
}
