//! How long the stages took.

use flowpipe_config::pipeline::Pipeline;
use serde::Serialize;

use crate::compare::onto::plugins;
use crate::quantile::quantile;

/// A stage of both pipelines, or of one.
#[derive(Clone, Debug, Serialize)]
pub struct StageTimes {
    /// Its name.
    pub stage: String,
    /// In the first pipeline.
    pub a: Option<Times>,
    /// In the second.
    pub b: Option<Times>,
}

/// How long a stage worked on a message, waiting left out: nanoseconds, over all rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Its plugin.
    pub plugin: String,
    /// How often.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// 95 in 100 took no longer.
    pub p95_ns: u64,
    /// None took longer.
    pub max_ns: u64,
    /// All together.
    pub total_ns: u64,
}

/// A pipeline, and how long each of its stages worked each time.
pub type Worked<'a> = (&'a Pipeline, &'a [Vec<u64>]);

/// The stages of both by their names, in the order of the first pipeline. `is_source`: of stages that only
/// play what is recorded, which are left out.
pub fn times(a: Worked<'_>, b: Worked<'_>, is_source: impl Fn(&str) -> bool) -> Vec<StageTimes> {
    let of = |(pipeline, worked): Worked<'_>, name: &str| {
        let index = pipeline.stages.iter().position(|it| it.name == name)?;
        Some(Times::new(
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

impl Times {
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
