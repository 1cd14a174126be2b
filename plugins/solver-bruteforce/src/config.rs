//! What a pipeline can set.

use flowpipe_plugin::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-bruteforce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is asked: "one" solution, whether it is "unique" too, the "count" of solutions, or "all"
    /// of them.
    pub want: Want,
    /// Stop counting or listing after so many solutions.
    pub limit: Option<u64>,
    /// Give up when all colours together have more paths than this. A million take about 100 MB.
    pub max_paths: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            want: Want::default(),
            limit: None,
            max_paths: 1_000_000,
        }
    }
}
