//! What a run did: counts, times, drops, problems.

pub(crate) mod marks;
pub(crate) mod times;

use std::collections::BTreeMap;

pub use flowpipe_host::frame::pool::PoolStatistics;
use flowpipe_host::problem::Problem;
pub use flowpipe_host::run::{Ended, Ending};
use serde::{Deserialize, Serialize};

pub use crate::report::marks::MarkReport;
pub use crate::report::times::Spread;

/// What a run did from start to end.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The pipeline's name.
    pub pipeline: String,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Whether somebody asked it to stop.
    pub stopped: bool,
    /// The stage that ended it, when one did on purpose.
    pub ended: Option<Ended>,
    /// What ended it, when a stage failed; else the first death of a stage that drove the mouse, even where the run went
    /// on.
    pub failure: Option<Problem>,
    /// In the order of the pipeline.
    pub stages: Vec<StageReport>,
    /// In the order of the pipeline.
    pub edges: Vec<EdgeReport>,
    /// From a frame's capture to its first mark, by the mark's name: `action` is the first press of
    /// the mouse.
    pub marks: BTreeMap<String, MarkReport>,
    /// Frame memory.
    pub frames: PoolStatistics,
    /// How many problems of each kind there were.
    pub problem_counts: BTreeMap<String, u64>,
    /// The first hundred of them.
    pub problems: Vec<Problem>,
}

/// What one stage did.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// Its name in the pipeline.
    pub name: String,
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
    /// Messages on which it ran out of time.
    pub timed_out: u64,
    /// How often one of its plugins was made anew after a failure.
    pub restarted: u64,
    /// Plugin instances that hung and were given up. They still live.
    pub given_up: u64,
    /// Frames that it allocated and somebody still holds.
    pub frames_left: usize,
    /// Time in `process`, waiting for full queues left out.
    pub time: Spread,
    /// Its part of the time of all stages, from 0 to 1.
    pub share: f64,
    /// One a plugin: more than one when it is a race.
    pub contestants: Vec<ContestantReport>,
}

/// What one plugin of a stage did.
#[derive(Clone, Debug, Serialize)]
pub struct ContestantReport {
    /// The plugin's name.
    pub plugin: String,
    /// Races won. 0 where there is no race.
    pub won: u64,
    /// Races in which it still sat on an earlier message.
    pub sat_out: u64,
    /// Races in which it failed.
    pub failed: u64,
}

/// What passed over one edge: `sent = delivered + dropped + discarded` when the run is over.
#[derive(Clone, Debug, Serialize)]
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
    /// How many it may hold.
    pub capacity: usize,
}

/// The counts of a run that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds since it began.
    pub seconds: f64,
    /// In the order of the pipeline.
    pub stages: Vec<StageProgress>,
}

/// The counts of a stage of a run that goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageProgress {
    /// Its name in the pipeline.
    pub name: String,
    /// Messages taken.
    #[serde(rename = "in")]
    pub received: u64,
    /// Messages emitted.
    #[serde(rename = "out")]
    pub emitted: u64,
    /// Messages that its input queues dropped.
    pub dropped: u64,
    /// Messages on which it failed or ran out of time.
    pub failed: u64,
    /// How often one of its plugins was made anew after a failure.
    #[serde(default)]
    pub restarted: u64,
    /// Messages that wait in its input queues.
    pub queued: u64,
    /// How many these hold together; 0: it has none.
    pub capacity: u64,
}
