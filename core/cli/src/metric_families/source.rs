//! The families of a run: everything that it counts and measures.

use std::collections::BTreeSet;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Snapshot;
use flowpipe_engine::run::{Options, RunView};
use flowpipe_process::memory::resident_bytes;

use super::family::{
    FamilyData, HistogramFamily, Labels, LatestFamily, MetricFamily, SampleFamily,
};
use crate::machines::progress::{MachineSnapshot, OtherProgress};
use crate::metrics::{MetricRow, MetricValue, RunMetrics};

/// Where families come from.
pub struct FamilySource {
    facts: RunFacts,
    view: RunView,
    others: OtherProgress,
    published: RunMetrics,
}

/// What does not change in a run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    pipeline: String,
    started_unix_ns: u64,
    dry: bool,
    /// The sending and the receiving stage of each edge.
    ends: Vec<[usize; 2]>,
}

impl RunFacts {
    /// Those of a run that is about to start.
    pub fn of(pipeline: &Pipeline, options: &Options) -> Self {
        let edges = pipeline.edges.iter();
        Self {
            pipeline: pipeline.name.clone(),
            started_unix_ns: options.clock.start_unix_ns(),
            dry: options.dry,
            ends: edges.map(|it| [it.from.stage, it.to.stage]).collect(),
        }
    }
}

impl FamilySource {
    /// `others`: the counts of other machines. `published`: what the stages publish.
    pub fn new(
        facts: RunFacts,
        view: RunView,
        others: OtherProgress,
        published: RunMetrics,
    ) -> Self {
        Self {
            facts,
            view,
            others,
            published,
        }
    }

    /// The families as of now, without empty ones.
    pub fn families(&self) -> Vec<MetricFamily> {
        let mut version = SampleFamily::default();
        version.add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        let mut run = SampleFamily::default();
        let dry = if self.facts.dry { "true" } else { "false" };
        run.add(&[("pipeline", &self.facts.pipeline), ("dry", dry)], 1);
        let mut all = vec![
            MetricFamily {
                name: "flowpipe_build_info",
                help: "The version of the program; the value is 1.",
                data: FamilyData::Gauges(version),
            },
            MetricFamily {
                name: "flowpipe_run_info",
                help: "The pipeline that runs; the value is 1.",
                data: FamilyData::Gauges(run),
            },
            MetricFamily {
                name: "flowpipe_run_start_time_seconds",
                help: "When the run started, in seconds since 1970.",
                data: FamilyData::Time(self.facts.started_unix_ns),
            },
        ];
        let machines = self
            .others
            .snapshots(self.view.snapshot(), resident_bytes(std::process::id()));
        let mut stages = StageFamilies::default();
        for machine in &machines {
            stages.add(machine, &self.facts.ends);
        }
        all.extend(stages.into_families());
        all.extend(published(&self.published.rows()));
        all.retain(|family| !family.is_empty());
        all
    }
}

/// The metrics that the stages here publish.
fn published(rows: &[MetricRow]) -> [MetricFamily; 3] {
    let mut counters = SampleFamily::default();
    let mut values = LatestFamily::default();
    let mut distributions = LatestFamily::default();
    for row in rows {
        let labels = [("stage", &*row.stage), ("name", &*row.name)];
        match row.value {
            MetricValue::Counter(count) => counters.add(&labels, count),
            MetricValue::Gauge(value) => values.set(&labels, value),
            MetricValue::Distribution(of) => distributions.set(&labels, of),
        }
    }
    let family = |name, help, data| MetricFamily { name, help, data };
    [
        family(
            "flowpipe_published_total",
            "What the stage counts itself, by the name that it gives (flowpipe.metrics/1).",
            FamilyData::Counters(counters),
        ),
        family(
            "flowpipe_published_value",
            "The last value of a gauge of the stage, by the name that it gives (flowpipe.metrics/1).",
            FamilyData::Values(values),
        ),
        family(
            "flowpipe_published_distribution",
            "The distribution of a value of the stage in the run, by the name that it gives (flowpipe.metrics/1).",
            FamilyData::Summaries(distributions),
        ),
    ]
}

/// All families of the stages.
#[derive(Default)]
struct StageFamilies {
    received: SampleFamily,
    emitted: SampleFamily,
    failed: SampleFamily,
    timed_out: SampleFamily,
    restarted: SampleFamily,
    abandoned: SampleFamily,
    workers: SampleFamily,
    stage_memory: SampleFamily,
    durations: HistogramFamily,
    sent: SampleFamily,
    dropped: SampleFamily,
    queued: SampleFamily,
    capacity: SampleFamily,
    marks: HistogramFamily,
    problems: SampleFamily,
    frames: SampleFamily,
    reused: SampleFamily,
    live: SampleFamily,
    idle: SampleFamily,
    memory: SampleFamily,
    up: SampleFamily,
    connected: SampleFamily,
    link_sent: SampleFamily,
    link_received: SampleFamily,
}

impl StageFamilies {
    /// Adds a machine; the only one has no name.
    fn add(&mut self, machine: &MachineSnapshot, ends: &[[usize; 2]]) {
        let name = machine.name.as_deref();
        if let Some(name) = name {
            self.up
                .add(&[("machine", name)], u64::from(machine.is_active));
        }
        for link in &machine.links {
            let labels = [("machine", name.unwrap_or_default()), ("peer", &*link.peer)];
            self.link_sent.add(&labels, link.sent_bytes);
            self.link_received.add(&labels, link.received_bytes);
            if machine.is_active {
                self.connected.add(&labels, u64::from(link.is_connected));
            }
        }
        if let Some(snapshot) = &machine.snapshot {
            self.add_stages(machine, snapshot);
            self.add_edges(machine, snapshot, ends);
            self.add_rest(machine, snapshot);
        }
    }

    fn add_stages(&mut self, machine: &MachineSnapshot, snapshot: &Snapshot) {
        for (index, stage) in snapshot.stages.iter().enumerate() {
            if !is_of(&machine.stages, index) {
                continue;
            }
            let labels = with_machine(machine, &[("stage", &stage.name)]);
            for (family, count) in [
                (&mut self.received, stage.received),
                (&mut self.emitted, stage.emitted),
                (&mut self.failed, stage.failed),
                (&mut self.timed_out, stage.timed_out),
                (&mut self.restarted, stage.restarted),
                (&mut self.abandoned, stage.abandoned),
            ] {
                family.add(&labels, count);
            }
            self.durations.add(&labels, &stage.time);
            if machine.is_active {
                self.workers.add(&labels, stage.workers);
                if let Some(bytes) = stage.resident_bytes {
                    self.stage_memory.add(&labels, bytes);
                }
            }
        }
    }

    /// Adds the edges that the machine has an end of. What waits between two machines is counted at both.
    fn add_edges(&mut self, machine: &MachineSnapshot, snapshot: &Snapshot, ends: &[[usize; 2]]) {
        for (index, edge) in snapshot.edges.iter().enumerate() {
            // A reload may add edges, of a run on one machine.
            let ends = ends.get(index);
            let has = |end: usize| ends.is_none_or(|ends| is_of(&machine.stages, ends[end]));
            if !has(0) && !has(1) {
                continue;
            }
            let labels = [("from", &*edge.from), ("to", &*edge.to)];
            let mut dropped = labels.to_vec();
            for (reason, count) in [("queue_full", edge.dropped), ("receiver_ended", edge.lost)] {
                dropped.push(("reason", reason));
                self.dropped.add(&with_machine(machine, &dropped), count);
                dropped.pop();
            }
            let labels = with_machine(machine, &labels);
            if has(0) {
                self.sent.add(&labels, edge.sent);
            }
            if machine.is_active {
                self.queued.add(&labels, edge.queued);
                self.capacity.add(&labels, edge.capacity);
            }
        }
    }

    fn add_rest(&mut self, machine: &MachineSnapshot, snapshot: &Snapshot) {
        for (mark, buckets) in &snapshot.marks {
            self.marks
                .add(&with_machine(machine, &[("mark", mark)]), buckets);
        }
        for (kind, count) in &snapshot.problem_counts {
            self.problems
                .add(&with_machine(machine, &[("kind", kind)]), *count);
        }
        let labels = with_machine(machine, &[]);
        let frames = &snapshot.frames;
        self.frames.add(&labels, frames.allocated as u64);
        self.reused.add(&labels, frames.reused as u64);
        if machine.is_active {
            self.live.add(&labels, frames.live as u64);
            self.idle.add(&labels, frames.idle_bytes as u64);
            if let Some(bytes) = machine.resident_bytes {
                self.memory.add(&labels, bytes);
            }
        }
    }

    fn into_families(self) -> impl Iterator<Item = MetricFamily> {
        let counters = [
            (
                "flowpipe_stage_messages_received_total",
                "Messages that the stage has taken.",
                self.received,
            ),
            (
                "flowpipe_stage_messages_emitted_total",
                "Messages that the stage has emitted, at all outputs.",
                self.emitted,
            ),
            (
                "flowpipe_stage_failures_total",
                "Messages on which the stage has failed.",
                self.failed,
            ),
            (
                "flowpipe_stage_timeouts_total",
                "Messages on which the stage has timed out.",
                self.timed_out,
            ),
            (
                "flowpipe_stage_restarts_total",
                "How often a plugin of the stage was restarted after a failure.",
                self.restarted,
            ),
            (
                "flowpipe_stage_abandoned_total",
                "Instances of plugins that hung and were abandoned.",
                self.abandoned,
            ),
            (
                "flowpipe_edge_messages_sent_total",
                "Messages that the sender has emitted to the edge.",
                self.sent,
            ),
            (
                "flowpipe_edge_messages_dropped_total",
                "Messages of the edge that were dropped.",
                self.dropped,
            ),
            (
                "flowpipe_problems_total",
                "Problems of the run, by kind.",
                self.problems,
            ),
            (
                "flowpipe_frames_allocated_total",
                "Frames for which memory was allocated.",
                self.frames,
            ),
            (
                "flowpipe_frames_reused_total",
                "Frames that use the memory of an earlier one.",
                self.reused,
            ),
            (
                "flowpipe_link_sent_bytes_total",
                "Bytes that the machine has sent to the other one.",
                self.link_sent,
            ),
            (
                "flowpipe_link_received_bytes_total",
                "Bytes that the machine has received of the other one.",
                self.link_received,
            ),
        ];
        let gauges = [
            (
                "flowpipe_stage_workers",
                "How many messages the stage processes at once.",
                self.workers,
            ),
            (
                "flowpipe_stage_resident_memory_bytes",
                "Resident memory of the processes of an isolated stage.",
                self.stage_memory,
            ),
            (
                "flowpipe_edge_queue_messages",
                "Messages that wait in the queue of the edge.",
                self.queued,
            ),
            (
                "flowpipe_edge_queue_capacity_messages",
                "Messages for which the queue of the edge has room.",
                self.capacity,
            ),
            ("flowpipe_frames_live", "Frames that are in use.", self.live),
            (
                "flowpipe_frames_idle_bytes",
                "Memory that is kept for further frames.",
                self.idle,
            ),
            (
                "flowpipe_machine_up",
                "Whether the machine of the run can be reached.",
                self.up,
            ),
            (
                "flowpipe_link_connected",
                "Whether the machine has a connection to the other one.",
                self.connected,
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory of the program, without isolated stages.",
                self.memory,
            ),
        ];
        let histograms = [
            (
                "flowpipe_stage_call_duration_seconds",
                "How long the stage works on a message, without waits for full queues.",
                self.durations,
            ),
            (
                "flowpipe_mark_latency_seconds",
                "The time from the capture of a frame to its first mark of this name.",
                self.marks,
            ),
        ];
        let family = |(name, help, data)| MetricFamily { name, help, data };
        let counters = counters.map(|(name, help, it)| (name, help, FamilyData::Counters(it)));
        let gauges = gauges.map(|(name, help, it)| (name, help, FamilyData::Gauges(it)));
        let histograms =
            histograms.map(|(name, help, it)| (name, help, FamilyData::Histograms(it)));
        let all = counters.into_iter().chain(gauges).chain(histograms);
        all.map(family)
    }
}

/// Whether a stage is one of these. `None`: all are.
fn is_of(stages: &Option<BTreeSet<usize>>, stage: usize) -> bool {
    stages.as_ref().is_none_or(|stages| stages.contains(&stage))
}

/// The labels with that of the machine, if there are several.
fn with_machine<'a>(
    machine: &'a MachineSnapshot,
    labels: &Labels<'a>,
) -> Vec<(&'static str, &'a str)> {
    let name = machine.name.as_deref().map(|name| ("machine", name));
    labels.iter().copied().chain(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Percentiles;

    #[test]
    fn each_kind_of_published_metric_has_a_family() {
        let row = |stage: &str, name: &str, value| MetricRow {
            stage: stage.to_owned(),
            name: name.to_owned(),
            unit: None,
            value,
        };
        let samples = Percentiles {
            count: 4,
            p50: 2.0,
            p95: 3.5,
            max: 4.0,
            sum: 10.0,
        };
        let [counters, values, distributions] = published(&[
            row("a", "boards", MetricValue::Counter(2)),
            row("a", "level", MetricValue::Gauge(-1.5)),
            // The same name in another kind, and a stage that a reload has replaced.
            row("a", "boards", MetricValue::Distribution(samples)),
            row("a", "level", MetricValue::Gauge(0.5)),
        ]);
        let labels = |name: &str| vec![("stage", "a".to_owned()), ("name", name.to_owned())];
        let FamilyData::Counters(counters) = counters.data else {
            panic!("{counters:?}");
        };
        let found: Vec<_> = counters.iter().collect();
        assert_eq!(found, [(&labels("boards"), 2)]);
        let FamilyData::Values(values) = values.data else {
            panic!("{values:?}");
        };
        let found: Vec<_> = values.iter().collect();
        assert_eq!(found, [(&labels("level"), 0.5)]);
        let FamilyData::Summaries(distributions) = distributions.data else {
            panic!("{distributions:?}");
        };
        let found: Vec<_> = distributions.iter().collect();
        assert_eq!(found, [(&labels("boards"), samples)]);
        assert!(published(&[]).iter().all(MetricFamily::is_empty));
    }
}
