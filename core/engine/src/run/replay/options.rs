//! The options of a replay.

use flowpipe_config::effects::EffectKind;
use serde_json::Value;

/// The options of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Rerun only this stage and those downstream of it.
    pub from: Option<String>,
    /// Plugins that replace recorded ones.
    pub swaps: Vec<Swap>,
    /// The effects that the stages named by `from` and `swaps` may have.
    pub allowed: Allowed,
    /// The speed factor. `None`: as fast as possible.
    pub speed: Option<f64>,
    /// Rerun calls have no limits of time and memory.
    pub has_no_limits: bool,
}

/// A plugin that replaces the recorded one of a stage.
#[derive(Clone, Debug)]
pub struct Swap {
    /// The stage.
    pub stage: String,
    /// The plugin.
    pub plugin: String,
    /// Its config, as the user typed it.
    pub config: Value,
}

/// The effects that the user allows for the stages that the options name.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// The allowed effects.
    pub kinds: Vec<EffectKind>,
    /// Whether plugins with unknown effects are allowed.
    pub unknown: bool,
}
