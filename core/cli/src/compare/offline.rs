//! Turns a pipeline into one that plays a recording and has no effects outside of the program.

use std::path::Path;

use flowpipe_config::effects::EffectKind;
use flowpipe_config::manifest::{Carried, Manifest, Port};
use flowpipe_config::pipeline::{Contestant, Edge, OnError, OnStop, Pipeline, Stage, WhenFull};
use flowpipe_config::reader::cycle::blocking_cycles;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::message::RESULT;
use flowpipe_recording::{Recording, Topic};
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::compare::output::{self, OutputError, PLAYER};

/// The referee that uses neither clock nor outcomes.
const REFEREE: &str = "referee-once";
/// A queue that never fills has this much more capacity than the recording has messages.
const SPARE: usize = 64;
/// The maximum capacity of a queue on a cycle: its memory is allocated at once.
const WIDEST: usize = 1 << 20;

/// A pipeline on a recording.
pub struct Offline {
    /// The pipeline to run.
    pub pipeline: Pipeline,
    /// The recorded outputs that sources play, by stage.
    pub played: Vec<Option<Topic>>,
    /// The changed stages.
    pub changes: Vec<StageChange>,
}

/// A changed stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageChange {
    /// Its name.
    pub stage: String,
    /// Its plugin.
    pub plugin: String,
    /// The change.
    #[serde(flatten)]
    pub what: ChangeKind,
}

/// The change of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It plays the recording.
    Recorded {
        /// The recorded stage and its output.
        from: String,
    },
    /// It is left out: it has effects.
    ActsOnTheWorld,
    /// It is left out: all stages that feed it are.
    Unfed,
    /// Another plugin replaces it.
    Replaced {
        /// Which.
        by: String,
    },
    /// What it emits depends on the time, and a recording is played as fast as possible.
    UsesTime,
    /// It emits nothing in a dry run, as the runs of a comparison are.
    IdlesDry,
}

/// Why a pipeline can't run on a recording.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OfflineError {
    /// No recorded output feeds a source.
    #[error("stage \"{stage}\": {error}")]
    Source {
        /// The source.
        stage: String,
        /// Why.
        error: OutputError,
    },
    /// A source with several outputs in use.
    #[error("stage \"{stage}\" feeds others by several outputs, which a recording can't replace")]
    SeveralOutputs {
        /// The source.
        stage: String,
    },
    /// The recorded schema does not match the input.
    #[error("stage \"{to}\" takes {takes}, and {from} of the recording gives {gives}")]
    Schema {
        /// The receiving stage.
        to: String,
        /// The schema of its input.
        takes: String,
        /// The recorded output.
        from: String,
        /// The schema of that output.
        gives: String,
    },
    /// No stage but sources is left.
    #[error("no stage is left to run on the recording")]
    Nothing,
}

/// Turns a pipeline into one that plays a recording. The catalogue must contain all of its plugins.
///
/// # Errors
/// See [`OfflineError`].
pub fn offline(
    pipeline: &Pipeline,
    recording: &Recording,
    file: &Path,
    catalogue: &Catalogue,
) -> Result<Offline, OfflineError> {
    let manifests: Vec<Manifest> = pipeline
        .stages
        .iter()
        .map(|stage| manifest(stage, catalogue))
        .collect();
    let stages = pipeline.stages.iter();
    let acts: Vec<bool> = stages.map(|stage| acts(stage, catalogue)).collect();
    let (kept, mut changes) = kept(pipeline, &manifests, &acts);
    if kept.iter().all(|&stage| manifests[stage].inputs.is_empty()) {
        return Err(OfflineError::Nothing);
    }
    let edges = edges_among(&kept, &pipeline.edges);
    let manifests: Vec<&Manifest> = kept.iter().map(|&stage| &manifests[stage]).collect();
    let mut stages: Vec<Stage> = kept
        .iter()
        .map(|&stage| pipeline.stages[stage].clone())
        .collect();
    let names: Vec<String> = stages.iter().map(|stage| stage.name.clone()).collect();
    let mut played = vec![None; stages.len()];
    let mut offline = Pipeline {
        name: pipeline.name.clone(),
        stages: Vec::new(),
        edges,
        on_stop: OnStop::Drop,
        machines: flowpipe_config::pipeline::Machines::default(),
        record: None,
    };
    for (index, (stage, manifest)) in stages.iter_mut().zip(&manifests).enumerate() {
        // A failure on one board must not end the comparison. It is reported.
        stage.on_error = OnError::Skip;
        if manifest.inputs.is_empty() {
            let receivers = Receivers {
                edges: &offline.edges,
                names: &names,
                manifests: &manifests,
            };
            let topic = source(index, stage, recording, &receivers)?;
            let from = shown(&topic);
            let plugin = play(stage, &topic, file);
            changes.push(StageChange {
                stage: stage.name.clone(),
                plugin,
                what: ChangeKind::Recorded { from },
            });
            played[index] = Some(topic);
            // The player has one output.
            let leaving = offline.edges.iter_mut();
            leaving
                .filter(|edge| edge.from.stage == index)
                .for_each(|edge| edge.from.port = 0);
        } else if is_replaced(manifest, catalogue) {
            changes.push(StageChange {
                stage: stage.name.clone(),
                plugin: manifest.name.clone(),
                what: ChangeKind::Replaced { by: REFEREE.into() },
            });
            stage.contestants = vec![contestant(REFEREE, json!({}))];
        } else if stage.contestants.iter().any(uses_time) {
            changes.push(StageChange {
                stage: stage.name.clone(),
                plugin: plugins(stage),
                what: ChangeKind::UsesTime,
            });
        } else if stage.contestants.iter().any(idles_dry) {
            changes.push(StageChange {
                stage: stage.name.clone(),
                plugin: plugins(stage),
                what: ChangeKind::IdlesDry,
            });
        }
    }
    offline.stages = stages;
    let place = |change: &StageChange| {
        pipeline
            .stages
            .iter()
            .position(|it| it.name == change.stage)
    };
    changes.sort_by_key(place);
    let recorded = recording.entries().len();
    lose_nothing(&mut offline, (recorded + SPARE).min(WIDEST));
    Ok(Offline {
        pipeline: offline,
        played,
        changes,
    })
}

/// The manifest of a stage's first plugin.
pub fn manifest(stage: &Stage, catalogue: &Catalogue) -> Manifest {
    let first = stage.contestants.first();
    let manifest = first.and_then(|first| {
        let manifest = &catalogue.find(&first.plugin)?.manifest;
        Some(manifest.with_config(&first.config).into_owned())
    });
    manifest.unwrap_or_default()
}

/// Whether a plugin of a stage acts on the world. Running a command or using the network does not count by itself: a
/// solver that is a command is compared like any other.
fn acts(stage: &Stage, catalogue: &Catalogue) -> bool {
    const MEANS: [EffectKind; 2] = [EffectKind::RunsCommands, EffectKind::UsesNetwork];
    let mut plugins = stage.contestants.iter();
    plugins.any(|it| {
        let found = catalogue.find(&it.plugin);
        let acts = |manifest: &Manifest| manifest.with_config(&it.config).acts(&MEANS, &it.config);
        found.is_some_and(|found| acts(&found.manifest))
    })
}

/// The stages to run, and why the others are left out. `acts`: whether a stage acts on the world, by stage.
fn kept(
    pipeline: &Pipeline,
    manifests: &[Manifest],
    acts: &[bool],
) -> (Vec<usize>, Vec<StageChange>) {
    let mut kept: Vec<usize> = (0..pipeline.stages.len())
        .filter(|&stage| !acts[stage] && manifests[stage].inputs.is_empty())
        .collect();
    let mut next = 0;
    while let Some(&from) = kept.get(next) {
        next += 1;
        for edge in pipeline.edges.iter().filter(|edge| edge.from.stage == from) {
            let to = edge.to.stage;
            if !acts[to] && !kept.contains(&to) {
                kept.push(to);
            }
        }
    }
    kept.sort_unstable();
    let changes = pipeline
        .stages
        .iter()
        .enumerate()
        .filter(|(index, _)| !kept.contains(index))
        .map(|(index, stage)| StageChange {
            stage: stage.name.clone(),
            plugin: plugins(stage),
            what: match acts[index] {
                true => ChangeKind::ActsOnTheWorld,
                false => ChangeKind::Unfed,
            },
        });
    let changes = changes.collect();
    (kept, changes)
}

/// The plugins of a stage, as text.
pub fn plugins(stage: &Stage) -> String {
    let names = stage.contestants.iter().map(|it| it.plugin.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The edges between the kept stages, with their new indices.
fn edges_among(kept: &[usize], edges: &[Edge]) -> Vec<Edge> {
    let number = |stage| kept.iter().position(|&it| it == stage);
    let edges = edges.iter().filter_map(|edge| {
        let (from, to) = (number(edge.from.stage)?, number(edge.to.stage)?);
        let mut edge = *edge;
        (edge.from.stage, edge.to.stage) = (from, to);
        Some(edge)
    });
    edges.collect()
}

/// The receivers of a source's messages.
struct Receivers<'a> {
    edges: &'a [Edge],
    names: &'a [String],
    manifests: &'a [&'a Manifest],
}

/// Which recorded output feeds a source.
fn source(
    index: usize,
    stage: &Stage,
    recording: &Recording,
    receivers: &Receivers<'_>,
) -> Result<Topic, OfflineError> {
    let edges = receivers.edges.iter();
    let leaving: Vec<&Edge> = edges.filter(|edge| edge.from.stage == index).collect();
    let port = leaving.first().map_or(0, |edge| edge.from.port);
    if leaving.iter().any(|edge| edge.from.port != port) {
        return Err(OfflineError::SeveralOutputs {
            stage: stage.name.clone(),
        });
    }
    let port = receivers.manifests[index].outputs.get(port);
    let port = port.map_or("", |port| &port.name);
    let (plugin, config) = stage
        .contestants
        .first()
        .map_or(("", &Value::Null), |it| (&it.plugin, &it.config));
    let topic = output::find(recording, &stage.name, port, plugin, config).map_err(|error| {
        OfflineError::Source {
            stage: stage.name.clone(),
            error,
        }
    })?;
    let gives = Port {
        name: topic.port.to_string(),
        schema: output::schema(recording, &topic).unwrap_or("*").to_owned(),
        carries: Carried::anything(),
        ..Port::default()
    };
    for edge in leaving {
        let input = &receivers.manifests[edge.to.stage].inputs[edge.to.port];
        if !gives.meets(input) {
            return Err(OfflineError::Schema {
                to: receivers.names[edge.to.stage].clone(),
                takes: input.schema.clone(),
                from: shown(&topic),
                gives: gives.schema,
            });
        }
    }
    Ok(topic)
}

fn shown(topic: &Topic) -> String {
    format!("{}.{}", topic.stage, topic.port)
}

/// Makes a source play an output of the recording. Returns its plugin before.
fn play(stage: &mut Stage, topic: &Topic, file: &Path) -> String {
    let before = plugins(stage);
    let config = json!({ "file": file.display().to_string(), "stage": shown(topic) });
    stage.contestants = vec![contestant(PLAYER, config)];
    stage.timeout = None;
    before
}

fn contestant(plugin: &str, config: Value) -> Contestant {
    Contestant {
        plugin: plugin.to_owned(),
        config,
        revision: 0,
    }
}

/// Whether it is a referee that uses the clock, with the same ports as its replacement.
fn is_replaced(manifest: &Manifest, catalogue: &Catalogue) -> bool {
    let is_referee = manifest.outputs.iter().any(|port| port.schema == RESULT);
    let fits = catalogue.find(REFEREE).is_some_and(|it| {
        it.manifest.inputs == manifest.inputs && it.manifest.outputs == manifest.outputs
    });
    is_referee && !manifest.deterministic && fits
}

/// Whether it is a standard stage that emits by the time at which messages come.
fn uses_time(contestant: &Contestant) -> bool {
    let key = |name: &str| contestant.config.get(name);
    match contestant.plugin.as_str() {
        "throttle" => true,
        "batch" => key("within_ms").is_some(),
        "window" => key("span_ms").is_some(),
        "join" => key("by").is_some_and(|by| by == "time"),
        _ => false,
    }
}

/// Whether it is a standard stage that emits nothing in a dry run: it sends no requests.
fn idles_dry(contestant: &Contestant) -> bool {
    contestant.plugin == "http-request"
}

/// Makes every queue block when it is full. A cycle of such queues could deadlock; its queues are so large that they
/// never fill.
fn lose_nothing(pipeline: &mut Pipeline, widest: usize) {
    for edge in &mut pipeline.edges {
        edge.queue.when_full = WhenFull::Block;
    }
    loop {
        let cycles = blocking_cycles(pipeline.stages.len(), &pipeline.edges);
        if cycles.is_empty() {
            return;
        }
        for edge in cycles.into_iter().flatten() {
            let queue = &mut pipeline.edges[edge].queue;
            queue.when_full = WhenFull::DropOldest;
            queue.capacity = queue.capacity.max(widest);
        }
    }
}

#[cfg(test)]
mod tests;
