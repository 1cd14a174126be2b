//! How long each stage worked on a message: the table, and the distribution of its times.

use std::collections::{BTreeMap, BTreeSet};

use flowpipe_recording::entry::{Call, Event};
use flowpipe_recording::{Entry, Recording};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::story::work_ns;

/// One stage.
#[derive(Debug, Default, Serialize)]
pub struct Stage {
    /// Its name in the pipeline.
    pub name: String,
    /// `capture`, `vision` and so on.
    pub role: String,
    /// How many messages it processed at once.
    pub workers: usize,
    /// The machine that ran it, or those of its workers, in a run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Several when they raced.
    pub plugins: Vec<Plugin>,
    /// Messages taken.
    pub taken: u64,
    /// Messages emitted.
    pub emitted: u64,
    /// Messages that its queues dropped.
    pub dropped: u64,
    /// Problems that it had.
    pub problems: u64,
    /// How often one of its plugins failed or hung, and was restarted and called again.
    pub restarts: u64,
    /// How long it worked, waiting left out.
    pub time: Distribution,
}

/// A plugin of a stage.
#[derive(Debug, Serialize)]
pub struct Plugin {
    name: String,
    version: String,
    hash: String,
    deterministic: bool,
    /// As JSON; empty: the defaults.
    config: String,
}

/// The distribution of durations.
#[derive(Debug, Default, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Half took at most this, nanoseconds, to three digits.
    pub p50_ns: u64,
    /// 95 of 100.
    pub p95_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All together.
    pub total_ns: u64,
    /// By eighth of a power of ten from 100 ns on: how many.
    pub bins: BTreeMap<i32, u64>,
}

/// Bins of a power of ten.
pub const BINS: f64 = 8.0;

/// The stages in the pipeline's order.
pub fn of(recording: &Recording) -> Vec<Stage> {
    let mut stages: Vec<Stage> = recording.about().stages.iter().map(stage).collect();
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for entry in recording.entries() {
        let (name, count): (&str, fn(&mut Stage)) = match entry {
            Entry::Message(message) => (&message.topic().stage, |stage| stage.emitted += 1),
            Entry::Dropped(dropped) => (&dropped.to.0, |stage| stage.dropped += 1),
            Entry::Problem(problem) => (&problem.stage, |stage| stage.problems += 1),
            Entry::Call(call) => {
                if let Some(worked) = counted(call) {
                    times.entry(&call.stage).or_default().push(worked);
                }
                (&call.stage, |_| {})
            }
        };
        if let Some(stage) = stages.iter_mut().find(|stage| stage.name == name) {
            count(stage);
        }
    }
    for stage in &mut stages {
        let calls = recording.calls().filter(|call| call.stage == stage.name);
        let took: BTreeSet<_> = calls
            .filter_map(|call| call.took.as_ref())
            .map(key)
            .collect();
        stage.restarts = restarts(recording, &stage.name);
        // All plugins of a race take the same message.
        stage.taken = took.len() as u64;
        let times = times.remove(stage.name.as_str()).unwrap_or_default();
        stage.time = Distribution::of(&times);
    }
    stages
}

fn key(taken: &flowpipe_recording::entry::Taken) -> (&str, &str, &str, u64) {
    (&taken.port, &taken.from, &taken.output, taken.sequence)
}

fn restarts(recording: &Recording, stage: &str) -> u64 {
    let mut restarts = 0;
    // The plugins whose last call was one after which they could not go on.
    let mut gone = BTreeSet::new();
    for call in recording.calls().filter(|call| call.stage == stage) {
        let plugin = (call.worker, call.plugin);
        restarts += u64::from(gone.remove(&plugin));
        if call.restarted || call.hung {
            gone.insert(plugin);
        }
    }
    restarts
}

/// How long the work of a call took, where the call was for work: a message, or a source that gave something.
fn counted(call: &Call) -> Option<u64> {
    let counts = match call.event {
        Event::Message => true,
        Event::Tick => !call.emitted.is_empty(),
        Event::Finish => false,
    };
    counts.then(|| work_ns(call).unsigned_abs())
}

fn stage(about: &flowpipe_recording::entry::AboutStage) -> Stage {
    let plugin = |plugin: &flowpipe_recording::entry::AboutPlugin| Plugin {
        name: plugin.name.clone(),
        version: plugin.version.clone(),
        hash: plugin.hash.clone(),
        deterministic: plugin.deterministic,
        config: match plugin.config.as_object() {
            Some(map) if map.is_empty() => String::new(),
            _ if plugin.config.is_null() => String::new(),
            _ => shortened(plugin.config.to_string()),
        },
    };
    Stage {
        name: about.name.clone(),
        role: about.role.clone(),
        workers: about.workers,
        machine: about.machine.clone().map(shortened),
        plugins: about.plugins.iter().map(plugin).collect(),
        ..Stage::default()
    }
}

/// The most characters of a config, or of the names of machines, that are shown: a config can contain whole JSON Schemas.
const LONGEST_CONFIG: usize = 2_000;

/// The beginning of a long text.
fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_CONFIG) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

impl Distribution {
    /// That of durations in nanoseconds.
    pub fn of(times: &[u64]) -> Self {
        const HOUR: u64 = 3_600_000_000_000;
        let mut distribution = Self {
            count: times.len() as u64,
            max_ns: times.iter().copied().max().unwrap_or(0),
            total_ns: times.iter().fold(0, |sum, &time| sum.saturating_add(time)),
            ..Self::default()
        };
        for &time in times {
            *distribution.bins.entry(bin(time)).or_default() += 1;
        }
        // These bounds are good; without a histogram there would be no quantiles.
        if let Ok(mut histogram) = Histogram::<u64>::new_with_bounds(1, HOUR, 3) {
            for &time in times {
                histogram.saturating_record(time);
            }
            let at = |quantile| {
                histogram
                    .value_at_quantile(quantile)
                    .min(distribution.max_ns)
            };
            (
                distribution.p50_ns,
                distribution.p95_ns,
                distribution.p99_ns,
            ) = (at(0.5), at(0.95), at(0.99));
        }
        distribution
    }
}

/// The bin of a duration.
fn bin(time: u64) -> i32 {
    const FIRST: f64 = 100.0;
    let decades = (time.max(1) as f64 / FIRST).log10();
    // Within 100 either way.
    (decades * BINS).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_config_is_shortened() {
        assert_eq!(shortened("ä".repeat(2_000)), "ä".repeat(2_000));
        assert_eq!(shortened("ä".repeat(9_000)).chars().count(), 2_002);
    }

    #[test]
    fn a_stage_has_its_machine_if_there_are_several() {
        let about = |more: &str| {
            let text = format!(
                r#"{{"name":"solver","role":"","plugins":[],"inputs":[],"outputs":[]{more}}}"#
            );
            stage(&serde_json::from_str(&text).unwrap())
        };
        assert_eq!(about("").machine, None);
        let machine = about(r#","machine":"rack1, rack2""#).machine;
        assert_eq!(machine.as_deref(), Some("rack1, rack2"));
        let long = format!(r#","machine":"{}""#, "x".repeat(9_000));
        let machine = about(&long).machine.unwrap();
        assert_eq!(machine.chars().count(), 2_002);
    }

    #[test]
    fn a_distribution_has_quantiles_and_bins() {
        let distribution = Distribution::of(&[]);
        assert_eq!(
            (distribution.count, distribution.max_ns, distribution.p50_ns),
            (0, 0, 0)
        );
        let times: Vec<u64> = (1..=100).map(|value| value * 1000).collect();
        let distribution = Distribution::of(&times);
        assert!(
            (49_900..=50_100).contains(&distribution.p50_ns),
            "{distribution:?}"
        );
        assert!(
            (94_900..=95_100).contains(&distribution.p95_ns),
            "{distribution:?}"
        );
        assert_eq!(
            (distribution.max_ns, distribution.total_ns),
            (100_000, 5_050_000)
        );
        assert_eq!(distribution.bins.values().sum::<u64>(), 100);
        assert_eq!((bin(100), bin(1000), bin(99), bin(0)), (0, 8, -1, -16));
    }
}
