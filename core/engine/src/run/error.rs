//! Why a run failed to start.

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
    /// The control thread panicked while the run started.
    #[error("the control thread failed; its panic message is above")]
    Control,
}
