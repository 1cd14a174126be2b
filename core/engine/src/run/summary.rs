//! Builds reports and progress from the counters.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flowpipe_sync::lock;

use crate::edge::counters::Counters;
use crate::report::{
    ContestantReport, Distribution, EdgeReport, EdgeSnapshot, Progress, Report, Snapshot,
    StageProgress, StageReport, StageSnapshot,
};
use crate::run::shared::Shared;
use crate::run::stage::Stage;

/// Every stage and edge that a run has had so far, by index. Removed ones keep their index.
#[derive(Default)]
pub(crate) struct Topology {
    pub stages: Vec<Arc<Stage>>,
    pub edges: Vec<Arc<EdgeSummary>>,
}

/// The current topology, shared with views of the run.
#[derive(Clone, Default)]
pub(crate) struct CurrentTopology(Arc<Mutex<Arc<Topology>>>);

impl CurrentTopology {
    pub(crate) fn new(topology: Topology) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(topology))))
    }

    pub(crate) fn topology(&self) -> Arc<Topology> {
        lock(&self.0).clone()
    }

    pub(crate) fn set(&self, topology: Topology) {
        let before = std::mem::replace(&mut *lock(&self.0), Arc::new(topology));
        // Dropped outside the lock: stages may be freed here.
        drop(before);
    }
}

/// The names and counters of an edge.
pub(crate) struct EdgeSummary {
    pub from: String,
    pub to: String,
    /// The receiving stage.
    pub receiver: usize,
    pub capacity: AtomicUsize,
    pub counters: Arc<Counters>,
    /// The most messages that no receiver took, of all snapshots: a message that is being sent while the receiver ends counts
    /// for a moment before it is dropped.
    pub most_lost: AtomicU64,
}

fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

fn seconds(shared: &Shared) -> f64 {
    shared.now() as f64 / 1e9
}

fn dropped(stage: usize, edges: &[Arc<EdgeSummary>]) -> u64 {
    let into = edges.iter().filter(|edge| edge.receiver == stage);
    into.map(|edge| edge.counters.snapshot().dropped).sum()
}

pub(crate) fn progress(
    shared: &Shared,
    stages: &[Arc<Stage>],
    edges: &[Arc<EdgeSummary>],
) -> Progress {
    let queued = |stage| {
        let into = edges.iter().filter(|edge| edge.receiver == stage);
        into.map(|edge| edge.counters.snapshot().outstanding())
            .sum()
    };
    let capacity = |stage| {
        let into = edges.iter().filter(|edge| edge.receiver == stage);
        into.map(|edge| edge.capacity.load(Ordering::Relaxed) as u64)
            .sum()
    };
    let stages = stages.iter().map(|stage| StageProgress {
        name: stage.settings.name.clone(),
        workers: stage.active_workers(),
        received: get(&stage.counts.received),
        emitted: get(&stage.counts.emitted),
        dropped: dropped(stage.index, edges),
        failed: get(&stage.counts.failed) + get(&stage.counts.timed_out),
        restarted: get(&stage.counts.restarted),
        queued: queued(stage.index),
        capacity: capacity(stage.index),
    });
    Progress {
        seconds: seconds(shared),
        stages: stages.collect(),
    }
}

pub(crate) fn times(stages: &[Arc<Stage>]) -> Vec<Distribution> {
    let distribution = |stage: &Arc<Stage>| lock(&stage.times).distribution();
    stages.iter().map(distribution).collect()
}

/// All counts and durations. Walks the histograms.
pub(crate) fn snapshot(
    shared: &Shared,
    stages: &[Arc<Stage>],
    edges: &[Arc<EdgeSummary>],
) -> Snapshot {
    let memory = shared.resident_bytes();
    let stages = stages.iter().map(|stage| StageSnapshot {
        name: stage.settings.name.clone(),
        workers: stage.active_workers(),
        received: get(&stage.counts.received),
        emitted: get(&stage.counts.emitted),
        failed: get(&stage.counts.failed),
        timed_out: get(&stage.counts.timed_out),
        restarted: get(&stage.counts.restarted),
        abandoned: get(&stage.counts.abandoned),
        time: lock(&stage.times).buckets(),
        resident_bytes: memory.get(&stage.settings.name).copied(),
    });
    let edges = edges.iter().map(|edge| {
        let counts = edge.counters.snapshot();
        let lost = counts.lost();
        EdgeSnapshot {
            from: edge.from.clone(),
            to: edge.to.clone(),
            sent: counts.offered,
            dropped: counts.full(),
            lost: edge.most_lost.fetch_max(lost, Ordering::Relaxed).max(lost),
            queued: counts.waiting(),
            capacity: edge.capacity.load(Ordering::Relaxed) as u64,
        }
    });
    Snapshot {
        stages: stages.collect(),
        edges: edges.collect(),
        marks: shared.marks.buckets(),
        problem_counts: shared.problem_counts(),
        frames: shared.services.pool.statistics(),
    }
}

pub(crate) fn report(
    pipeline: String,
    shared: &Shared,
    stages: &[Arc<Stage>],
    edges: &[Arc<EdgeSummary>],
) -> Report {
    let problems = shared.problems();
    let problem_counts = problems.by_word();
    let times = times(stages);
    let all: u64 = times.iter().map(|time| time.total_ns).sum();
    let stages = stages.iter().zip(times).map(|(stage, time)| StageReport {
        name: stage.settings.name.clone(),
        machine: None,
        workers: stage.settings.workers,
        received: get(&stage.counts.received),
        emitted: get(&stage.counts.emitted),
        dropped: dropped(stage.index, edges),
        failed: get(&stage.counts.failed),
        timed_out: get(&stage.counts.timed_out),
        abandoned: get(&stage.counts.abandoned),
        restarted: get(&stage.counts.restarted),
        frames_left: shared.services.pool.live(stage.index),
        time,
        share: if all == 0 {
            0.0
        } else {
            time.total_ns as f64 / all as f64
        },
        contestants: contestants(stage),
    });
    Report {
        pipeline,
        seconds: seconds(shared),
        stopped: shared.was_asked(),
        ended: shared.ended(),
        failure: problems.failure.or(problems.mouse_lost),
        stages: stages.collect(),
        edges: edges.iter().map(|edge| edge_report(edge)).collect(),
        marks: shared.marks.report(),
        frames: shared.services.pool.statistics(),
        problem_counts,
        problems: problems.first,
    }
}

fn contestants(stage: &Stage) -> Vec<ContestantReport> {
    let plugins = stage.settings.contestants.iter().zip(&stage.contests);
    plugins
        .map(|(contestant, contest)| ContestantReport {
            plugin: contestant.plugin.clone(),
            won: get(&contest.won),
            sat_out: get(&contest.sat_out),
            failed: get(&contest.failed),
        })
        .collect()
}

fn edge_report(edge: &EdgeSummary) -> EdgeReport {
    let counts = edge.counters.snapshot();
    EdgeReport {
        from: edge.from.clone(),
        to: edge.to.clone(),
        sent: counts.offered,
        delivered: counts.taken,
        dropped: counts.dropped,
        discarded: counts.outstanding(),
        longest: counts.longest,
        capacity: edge.capacity.load(Ordering::Relaxed),
    }
}
