//! Everything that is counted and measured of an active run.

use std::collections::BTreeMap;

use flowpipe_host::frame::pool::PoolStatistics;
use serde::{Deserialize, Serialize};

use crate::report::times::DurationBuckets;

/// The counts and durations of an active run. Counts never fall, except where their documentation says so.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// In the order of the pipeline.
    pub stages: Vec<StageSnapshot>,
    /// In the order of the pipeline.
    pub edges: Vec<EdgeSnapshot>,
    /// The time from a frame's capture to its first mark, by the mark's name.
    pub marks: BTreeMap<String, DurationBuckets>,
    /// The number of problems of each kind.
    pub problem_counts: BTreeMap<String, u64>,
    /// Frame memory.
    pub frames: PoolStatistics,
}

/// The counts of one stage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StageSnapshot {
    /// Its name in the pipeline.
    pub name: String,
    /// How many messages it processes at once. A reload may change it.
    pub workers: u64,
    /// Messages taken.
    pub received: u64,
    /// Messages emitted, over all outputs.
    pub emitted: u64,
    /// Messages on which it failed.
    pub failed: u64,
    /// Messages on which it timed out.
    pub timed_out: u64,
    /// How often one of its plugins was restarted after a failure.
    pub restarted: u64,
    /// Plugin instances that hung and were abandoned.
    pub abandoned: u64,
    /// Time in `process`, without waits for full queues.
    pub time: DurationBuckets,
    /// The memory that its processes have resident, if it has any. It may fall.
    pub resident_bytes: Option<u64>,
}

/// The counts of one edge.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EdgeSnapshot {
    /// Stage and output, such as `screen.out`.
    pub from: String,
    /// Stage and input.
    pub to: String,
    /// Messages that the sender emitted.
    pub sent: u64,
    /// Messages dropped because the queue was full.
    pub dropped: u64,
    /// Messages that no receiver takes, because it has ended.
    pub lost: u64,
    /// Messages that wait for the receiver. It may fall.
    pub queued: u64,
    /// The capacity of the queue. A reload may change it.
    pub capacity: u64,
}
