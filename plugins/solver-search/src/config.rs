//! What a pipeline can set.

use flowpipe_plugin::solver::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The config.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is asked: "one" solution, whether it is "unique" too, the "count" of solutions, or "all" of them.
    pub want: Want,
    /// Stop counting or listing after so many solutions.
    pub limit: Option<u64>,
}
