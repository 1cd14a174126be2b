//! The report of a run: counts, times, drops, problems.

pub(crate) mod marks;
mod snapshot;
pub(crate) mod times;

use std::collections::BTreeMap;

pub use flowpipe_host::frame::pool::PoolStatistics;
use flowpipe_host::problem::Problem;
pub use flowpipe_host::run::{Ended, Ending};
use serde::{Deserialize, Serialize};

pub use crate::report::marks::MarkReport;
pub use crate::report::snapshot::{EdgeSnapshot, Snapshot, StageSnapshot};
pub use crate::report::times::{BUCKET_BOUNDS_NS, Distribution, DurationBuckets};

/// The report of a finished run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The pipeline's name.
    pub pipeline: String,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Whether it was asked to stop.
    pub stopped: bool,
    /// The stage that ended it on purpose, if any.
    pub ended: Option<Ended>,
    /// The failure that ended it; else the first crash or hang of a stage that drove the mouse, even if the run
    /// continued.
    pub failure: Option<Problem>,
    /// In the order of the pipeline.
    pub stages: Vec<StageReport>,
    /// In the order of the pipeline.
    pub edges: Vec<EdgeReport>,
    /// The time from a frame's capture to its first mark, by the mark's name: `action` is the first press of the mouse.
    pub marks: BTreeMap<String, MarkReport>,
    /// Frame memory.
    pub frames: PoolStatistics,
    /// The number of problems of each kind.
    pub problem_counts: BTreeMap<String, u64>,
    /// The first hundred problems.
    pub problems: Vec<Problem>,
}

/// The report of one stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageReport {
    /// Its name in the pipeline.
    pub name: String,
    /// The machine that ran it, in a run on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// How many messages it processes at once, as configured: also those of a machine that died.
    pub workers: usize,
    /// Messages taken.
    #[serde(rename = "in")]
    pub received: u64,
    /// Messages emitted, over all outputs.
    #[serde(rename = "out")]
    pub emitted: u64,
    /// Messages that its input queues dropped.
    pub dropped: u64,
    /// Messages on which it failed.
    pub failed: u64,
    /// Messages on which it timed out.
    pub timed_out: u64,
    /// How often one of its plugins was restarted after a failure.
    pub restarted: u64,
    /// Plugin instances that hung and were abandoned. They still exist.
    #[serde(rename = "given_up")]
    pub abandoned: u64,
    /// Frames that it allocated and that are still referenced.
    pub frames_left: usize,
    /// Time in `process`, without waits for full queues.
    pub time: Distribution,
    /// Its share of the time of all stages, from 0 to 1.
    pub share: f64,
    /// One per plugin, of all workers together: more than one in a race.
    pub contestants: Vec<ContestantReport>,
}

/// The report of one plugin of a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContestantReport {
    /// The plugin's name.
    pub plugin: String,
    /// Races won. 0 where there is no race.
    pub won: u64,
    /// Races that it missed because it was still processing an earlier message.
    pub sat_out: u64,
    /// Races in which it failed.
    pub failed: u64,
}

/// The report of one edge: `sent = delivered + dropped + discarded` when the run is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EdgeReport {
    /// Stage and output, such as `screen.out`.
    pub from: String,
    /// Stage and input.
    pub to: String,
    /// Messages that the sender emitted.
    pub sent: u64,
    /// Messages that the receiver took.
    pub delivered: u64,
    /// Messages dropped because the queue was full.
    pub dropped: u64,
    /// Messages left over when the receiver ended.
    pub discarded: u64,
    /// The most messages that were queued at once.
    pub longest: u64,
    /// The capacity of the queue.
    pub capacity: usize,
}

/// The counts of an active run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds since it began.
    pub seconds: f64,
    /// In the order of the pipeline.
    pub stages: Vec<StageProgress>,
}

/// The counts of one stage of an active run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageProgress {
    /// Its name in the pipeline.
    pub name: String,
    /// How many messages it processes at once.
    #[serde(default = "one")]
    pub workers: u64,
    /// Messages taken.
    #[serde(rename = "in")]
    pub received: u64,
    /// Messages emitted.
    #[serde(rename = "out")]
    pub emitted: u64,
    /// Messages that its input queues dropped.
    pub dropped: u64,
    /// Messages on which it failed or timed out.
    pub failed: u64,
    /// How often one of its plugins was restarted after a failure.
    #[serde(default)]
    pub restarted: u64,
    /// Messages in its input queues.
    pub queued: u64,
    /// The total capacity of its input queues; 0: it has none.
    pub capacity: u64,
}

fn one() -> u64 {
    1
}
