//! The counts of stages and contestants.

use std::sync::atomic::AtomicU64;

/// The counts of a stage.
#[derive(Debug, Default)]
pub(crate) struct StageCounts {
    pub received: AtomicU64,
    pub emitted: AtomicU64,
    pub failed: AtomicU64,
    pub timed_out: AtomicU64,
    pub abandoned: AtomicU64,
    pub restarted: AtomicU64,
}

/// The counts of one contestant.
#[derive(Debug, Default)]
pub(crate) struct ContestantCounts {
    pub won: AtomicU64,
    pub sat_out: AtomicU64,
    pub failed: AtomicU64,
}
