//! What a pipeline can set.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use flowpipe_plugin::Want;
use flowpipe_process::backoff::Backoff;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A command that is a stage.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The program and its arguments, such as ["python3", "solver.py"]. The program is searched in PATH;
    /// relative files start at `directory`.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Passed to the command unchanged, in its first message.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Variables of its environment, besides those of flowpipe.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The folder that it works in. Without, that of the pipeline file.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// How long it may take to start, up to its first answer, in milliseconds.
    #[serde(default = "start")]
    #[schemars(range(min = 1))]
    pub start_ms: u64,
    /// How long an answer may take, in milliseconds; by default, the pipeline's `timeout`. A command that is late is
    /// killed.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// How long it may run on when its answer is no longer wanted (a race is lost, the pipeline's `timeout` is over),
    /// in milliseconds; then it is killed.
    #[serde(default = "grace")]
    pub grace_ms: u64,
    /// How long to wait before a command that failed is restarted.
    #[serde(default)]
    pub backoff: BackoffConfig,
}

/// How long to wait before a command that failed is restarted: each time twice as long, until it gives an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Backoff")]
pub struct BackoffConfig {
    /// After the first time, in milliseconds.
    pub first_ms: u64,
    /// At most, in milliseconds.
    pub most_ms: u64,
}

impl From<BackoffConfig> for Backoff {
    fn from(config: BackoffConfig) -> Self {
        Self {
            first: Duration::from_millis(config.first_ms),
            longest: Duration::from_millis(config.most_ms),
        }
    }
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            first_ms: 100,
            most_ms: 10_000,
        }
    }
}

/// A command that is a solver.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolverConfig {
    /// See [`Config`].
    #[serde(flatten)]
    pub run: Config,
    /// What to ask for: "one" solution, whether it is "unique" too, the "count" of solutions, or "all" of them. The
    /// command gets this wish, and may do less.
    #[serde(default)]
    pub want: Want,
    /// Stop counting or listing after so many solutions.
    #[serde(default)]
    pub limit: Option<u64>,
}

fn start() -> u64 {
    10_000
}

fn grace() -> u64 {
    100
}
