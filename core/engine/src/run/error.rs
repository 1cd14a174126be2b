//! Why a run failed to start.

use crate::check::CheckError;

/// Why a run failed to start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No plugin of that name was found.
    #[error("stage \"{stage}\": there is no plugin \"{plugin}\"")]
    UnknownPlugin {
        /// The stage's name.
        stage: String,
        /// The plugin's name.
        plugin: String,
    },
    /// The stages don't fit together.
    #[error("stage \"{stage}\": {reason}")]
    Misfit {
        /// The stage's name.
        stage: String,
        /// What is wrong.
        reason: String,
    },
    /// The checks of its messages can't be loaded.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A plugin failed to start.
    #[error("stage \"{stage}\": {plugin} failed to {step}: {reason}")]
    Plugin {
        /// The stage's name.
        stage: String,
        /// The plugin's name.
        plugin: String,
        /// `start` or `activate`.
        step: &'static str,
        /// The plugin's error.
        reason: String,
        /// Whether the plugin refuses its config.
        is_bad_config: bool,
    },
    /// The system could not create a thread.
    #[error("failed to start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// A thread of the run panicked while the run, or one of its plugins, started.
    #[error(
        "a thread of the run panicked: this is a bug of flowpipe; the panic's message is above"
    )]
    Panicked,
}
