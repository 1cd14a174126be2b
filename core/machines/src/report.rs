//! The report of a whole run, from those of its machines.

use std::collections::BTreeMap;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::{Distribution, EdgeReport, MarkReport, Report, StageReport};

use serde_json::Value;

use crate::observations::LONGEST_OBSERVATION;

/// The longest report of a machine, in bytes.
const LONGEST: usize = LONGEST_OBSERVATION;
/// The most problems and marks that a report of a run has.
const MOST_PROBLEMS: usize = 100;
const MOST_MARKS: usize = 64;
/// The largest number of a report: 2⁶⁰.
const LARGEST: f64 = (1_u64 << 60) as f64;

/// Why the report of another machine is refused.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It is longer than permitted.
    #[error("its report has {0} bytes, where at most {LONGEST} are read")]
    TooLong(usize),
    /// It is not JSON, or something else.
    #[error("its report is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A number is so large that sums overflow.
    #[error("its report has a number that is out of range")]
    OutOfRange,
    /// It is of another pipeline.
    #[error("its report is not of this pipeline: {0}")]
    OtherPipeline(&'static str),
}

/// The report as bytes, for the other machines.
#[must_use]
pub fn write_report(report: &Report) -> Vec<u8> {
    // It has no maps with other keys than text, so that it is always JSON.
    let bytes = serde_json::to_vec(report).unwrap_or_default();
    if bytes.len() <= LONGEST {
        return bytes;
    }
    let without = Report {
        problems: Vec::new(),
        ..report.clone()
    };
    serde_json::to_vec(&without).unwrap_or_default()
}

/// Reads the report of another machine: of all stages, as each machine has them.
///
/// # Errors
/// When it is not one of this pipeline.
pub fn read_report(bytes: &[u8], pipeline: &Pipeline) -> Result<Report, ReportError> {
    if bytes.len() > LONGEST {
        return Err(ReportError::TooLong(bytes.len()));
    }
    let report: Value = serde_json::from_slice(bytes)?;
    if !is_in_range(&report) {
        return Err(ReportError::OutOfRange);
    }
    let mut report: Report = serde_json::from_value(report)?;
    let names = report.stages.iter().map(|it| &it.name);
    if !names.eq(pipeline.stages.iter().map(|it| &it.name)) {
        return Err(ReportError::OtherPipeline("it has other stages"));
    }
    if report.edges.len() != pipeline.edges.len() {
        return Err(ReportError::OtherPipeline("it has other edges"));
    }
    report.problems.truncate(MOST_PROBLEMS);
    Ok(report)
}

/// Whether no number in it is so large that sums overflow.
fn is_in_range(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|it| it.abs() <= LARGEST),
        Value::Array(values) => values.iter().all(is_in_range),
        Value::Object(members) => members.values().all(is_in_range),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The report of the whole run. `reports`: by machine, `None` if there is none of it; that of the machine `own` is the
/// report of this one.
#[must_use]
pub fn whole_report(
    pipeline: &Pipeline,
    own: usize,
    reports: &[Option<&Report>],
) -> Option<Report> {
    let of = |machine: usize| reports.get(machine).copied().flatten();
    let own_report = of(own)?;
    let machines = &pipeline.machines;
    let machine_of = |stage: usize| machines.of_stages.get(stage).copied().unwrap_or(own);
    let edges = pipeline.edges.iter().enumerate().map(|(index, edge)| {
        let of_end = |stage: usize| of(machine_of(stage)).and_then(|it| it.edges.get(index));
        let here = own_report.edges.get(index)?;
        let (from, to) = (of_end(edge.from.stage), of_end(edge.to.stage));
        let is_remote = machine_of(edge.from.stage) != machine_of(edge.to.stage);
        Some(match is_remote {
            true => joined(here, from, to),
            false => renamed(here, from.unwrap_or(here)),
        })
    });
    let edges: Vec<_> = edges.collect::<Option<_>>()?;
    let mut stages = Vec::new();
    for (index, here) in own_report.stages.iter().enumerate() {
        let machine = machine_of(index);
        let there = of(machine).and_then(|it| it.stages.get(index));
        let into = pipeline.edges.iter().zip(&edges);
        let into = into.filter(|(edge, _)| edge.to.stage == index);
        stages.push(StageReport {
            name: here.name.clone(),
            machine: machines.names(index),
            dropped: sum(into.map(|(_, edge)| edge.dropped)),
            ..there.unwrap_or(here).clone()
        });
    }
    let all = sum(stages.iter().map(|stage| stage.time.total_ns));
    for stage in &mut stages {
        stage.share = match all {
            0 => 0.0,
            all => stage.time.total_ns as f64 / all as f64,
        };
    }
    let mut whole = Report {
        stages,
        edges,
        ..own_report.clone()
    };
    for (machine, report) in reports.iter().enumerate() {
        if let Some(report) = report.filter(|_| machine != own) {
            let is_its = |stage: &str| {
                let mut stages = pipeline.stages.iter().zip(&machines.of_stages);
                stages.any(|(it, of)| it.name == stage && *of == machine)
            };
            add(&mut whole, report, &is_its);
        }
    }
    Some(whole)
}

/// Adds what is of the whole run. `is_its`: whether the machine of this report runs a stage.
fn add(whole: &mut Report, report: &Report, is_its: &impl Fn(&str) -> bool) {
    if report.seconds.is_finite() {
        whole.seconds = whole.seconds.max(report.seconds);
    }
    whole.stopped |= report.stopped;
    let ended = report.ended.as_ref().filter(|it| is_its(&it.stage));
    whole.ended = whole.ended.take().or_else(|| ended.cloned());
    let failure = report.failure.as_ref().filter(|it| is_its(&it.stage));
    whole.failure = whole.failure.take().or_else(|| failure.cloned());
    for (kind, count) in report.problem_counts.iter().take(MOST_PROBLEMS) {
        let total = whole.problem_counts.entry(kind.clone()).or_default();
        *total = total.saturating_add(*count);
    }
    let problems = report.problems.iter().filter(|it| is_its(&it.stage));
    let room = MOST_PROBLEMS.saturating_sub(whole.problems.len());
    whole.problems.extend(problems.take(room).cloned());
    add_marks(&mut whole.marks, &report.marks);
    let (frames, more) = (&mut whole.frames, report.frames);
    for (count, more) in [
        (&mut frames.allocated, more.allocated),
        (&mut frames.reused, more.reused),
        (&mut frames.live, more.live),
        (&mut frames.idle_bytes, more.idle_bytes),
    ] {
        *count = count.saturating_add(more);
    }
}

/// Adds the marks of a machine. Percentiles of two distributions can't be added: of a mark that stages of several
/// machines set, the larger ones are kept.
fn add_marks(marks: &mut BTreeMap<String, MarkReport>, more: &BTreeMap<String, MarkReport>) {
    for (name, mark) in more {
        let (is_full, of) = (marks.len() >= MOST_MARKS, mark.time);
        match marks.get_mut(name) {
            Some(known) => {
                known.time = Distribution {
                    count: known.time.count.saturating_add(of.count),
                    p50_ns: known.time.p50_ns.max(of.p50_ns),
                    p95_ns: known.time.p95_ns.max(of.p95_ns),
                    max_ns: known.time.max_ns.max(of.max_ns),
                    total_ns: known.time.total_ns.saturating_add(of.total_ns),
                }
            }
            None if is_full => {}
            None => drop(marks.insert(name.clone(), *mark)),
        }
    }
}

/// An edge between machines: its sender counts what was sent and dropped, its receiver what was delivered.
fn joined(here: &EdgeReport, from: Option<&EdgeReport>, to: Option<&EdgeReport>) -> EdgeReport {
    // Without the report of one end, all machines take the numbers of the other one.
    let sender = from.or(to).unwrap_or(here);
    let receiver = to.or(from).unwrap_or(here);
    let arrived = receiver.delivered.saturating_add(sender.dropped);
    EdgeReport {
        sent: sender.sent,
        delivered: receiver.delivered,
        dropped: sender.dropped,
        discarded: sender.sent.saturating_sub(arrived),
        longest: sender.longest.max(receiver.longest),
        ..here.clone()
    }
}

/// An edge of another machine, with the names that it has here.
fn renamed(here: &EdgeReport, there: &EdgeReport) -> EdgeReport {
    EdgeReport {
        from: here.from.clone(),
        to: here.to.clone(),
        capacity: here.capacity,
        ..there.clone()
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
