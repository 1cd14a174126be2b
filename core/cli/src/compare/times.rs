//! The times of the stages.

use flowpipe_config::pipeline::Pipeline;
use serde::Serialize;

use crate::compare::offline::plugins;
use crate::quantile::quantile;

/// A stage of both pipelines, or of one.
#[derive(Clone, Debug, Serialize)]
pub struct StageTimes {
    /// Its name.
    pub stage: String,
    /// Its times in the first pipeline.
    pub a: Option<WorkTimes>,
    /// Its times in the second.
    pub b: Option<WorkTimes>,
}

/// The times that a stage worked on a message, without waiting: nanoseconds, over all rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkTimes {
    /// Its plugin.
    pub plugin: String,
    /// The number of calls.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    /// The maximum.
    pub max_ns: u64,
    /// The sum.
    pub total_ns: u64,
}

/// A pipeline, and the times of each stage.
pub type WorkSamples<'a> = (&'a Pipeline, &'a [Vec<u64>]);

/// The stages of both by their names, in the order of the first pipeline. `is_source`: of stages that play the
/// recording, which are left out.
pub fn times(
    a: WorkSamples<'_>,
    b: WorkSamples<'_>,
    is_source: impl Fn(&str) -> bool,
) -> Vec<StageTimes> {
    let of = |(pipeline, worked): WorkSamples<'_>, name: &str| {
        let index = pipeline.stages.iter().position(|it| it.name == name)?;
        Some(WorkTimes::new(
            plugins(&pipeline.stages[index]),
            worked.get(index)?.clone(),
        ))
    };
    let mut names: Vec<&str> = Vec::new();
    for stage in a.0.stages.iter().chain(&b.0.stages) {
        if !names.contains(&stage.name.as_str()) && !is_source(&stage.name) {
            names.push(&stage.name);
        }
    }
    let row = |name: &str| StageTimes {
        stage: name.to_owned(),
        a: of(a, name),
        b: of(b, name),
    };
    names.into_iter().map(row).collect()
}

impl WorkTimes {
    fn new(plugin: String, mut worked: Vec<u64>) -> Self {
        worked.sort_unstable();
        let at = |share| quantile(&worked, share).unwrap_or(0);
        Self {
            plugin,
            count: worked.len(),
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            max_ns: at(1.0),
            total_ns: worked.iter().sum(),
        }
    }
}
