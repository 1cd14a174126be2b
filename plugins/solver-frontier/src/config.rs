//! What a pipeline can set.

use flowpipe_plugin::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Config of solver-frontier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What to find out. The number of solutions comes with every answer, since all of them are
    /// counted at once whatever is asked.
    pub want: Want,
    /// With `want = "all"`: list so many solutions at most. The number of solutions is exact all
    /// the same. Without it, all are listed.
    pub limit: Option<u64>,
    /// Give up after so many states, over all layers.
    pub max_states: Option<u64>,
    /// Give up rather than use more memory than this, in MiB.
    pub max_mebibytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            want: Want::Count,
            limit: None,
            max_states: None,
            max_mebibytes: 1536,
        }
    }
}
