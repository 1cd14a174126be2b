//! What a pipeline can set.

use flowpipe_plugin::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-backtrack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is asked: "one" solution, whether it is "unique" too, the "count" of solutions, or "all"
    /// of them.
    pub want: Want,
    /// Stop counting or listing after so many solutions.
    pub limit: Option<u64>,
    /// Go back at once where a row or a column has too few free cells for the pairs on either side
    /// of it. Changes how long it takes, never the answer.
    pub trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            want: Want::default(),
            limit: None,
            trim: true,
        }
    }
}
