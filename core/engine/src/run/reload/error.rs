//! Why a running pipeline could not be changed.

use crate::run::StartError;

/// Why a running pipeline could not be changed. It goes on as it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The new one could not be started either, as a whole or one of its plugins.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A stage's plugin has other ports than the one that runs.
    #[error(
        "stage \"{stage}\": {plugin} has other inputs or outputs than {before}, which a stage can't change while it runs; under another name it is a new stage"
    )]
    Ports {
        /// The stage's name.
        stage: String,
        /// The new plugin.
        plugin: String,
        /// The plugin that runs or ran.
        before: String,
    },
    /// A stage that is to be changed has ended.
    #[error("stage \"{stage}\" has ended already: it can't be changed any more")]
    Ended {
        /// The stage's name.
        stage: String,
    },
    /// A stage of that name was taken out before, and is not done.
    #[error(
        "stage \"{stage}\" was taken out and still works off what it was given: try again when it is done"
    )]
    Leaving {
        /// The stage's name.
        stage: String,
    },
    /// A stage does not come to the end of its message.
    #[error(
        "stage \"{stage}\" does not come back from what it has in hand, so that nothing can be put in its place"
    )]
    Busy {
        /// The stage's name.
        stage: String,
    },
    /// A plugin does not give or take its state.
    #[error("stage \"{stage}\": {plugin} can't {step} the state: {reason}")]
    State {
        /// The stage's name.
        stage: String,
        /// The plugin.
        plugin: String,
        /// `hand over` or `take over`.
        step: &'static str,
        /// What the plugin said.
        reason: String,
    },
    /// There are too many stages.
    #[error("no more than {0} stages can be added to a run")]
    TooMany(usize),
    /// A replay is what was recorded.
    #[error("a replay can't be changed")]
    Replay,
    /// The run is ending or over.
    #[error("the run is ending")]
    Ending,
}
