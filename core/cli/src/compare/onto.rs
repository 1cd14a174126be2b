//! From a pipeline to one that is fed by a recording and touches nothing outside of the program.

use std::path::Path;

use flowpipe_puzzle::message::RESULT;
use flowpipe_recording::{Recording, Topic};
use flowpipe_runtime::config::cycle::blocking_cycles;
use flowpipe_runtime::effects::EffectKind;
use flowpipe_runtime::manifest::{Manifest, Port};
use flowpipe_runtime::pipeline::{Contestant, Edge, OnError, OnStop, Pipeline, Stage, WhenFull};
use flowpipe_runtime::plugin::catalogue::Catalogue;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::compare::output::{self, OutputError, PLAYER};

/// The referee that needs no clock and no outcomes.
const REFEREE: &str = "referee-once";
/// A queue that never fills: so many messages more than the recording has can be under way.
const SPARE: usize = 64;
/// The most that a queue on a cycle holds: its memory is taken at once.
const WIDEST: usize = 1 << 20;

/// A pipeline on a recording.
pub struct Onto {
    /// What is run.
    pub pipeline: Pipeline,
    /// By stage: whose recorded messages it plays, if it is a source.
    pub played: Vec<Option<Topic>>,
    /// What differs from the pipeline as it was written.
    pub changes: Vec<Change>,
}

/// A stage that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its name.
    pub stage: String,
    /// Its plugin.
    pub plugin: String,
    /// What became of it.
    #[serde(flatten)]
    pub what: What,
}

/// What became of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum What {
    /// The recording speaks for it.
    Recorded {
        /// The recorded stage and its output.
        from: String,
    },
    /// It is left out: it acts on the world.
    ActsOnTheWorld,
    /// It is left out: nothing reaches it without the ones that are.
    Unfed,
    /// Another plugin is in its place.
    Replaced {
        /// Which.
        by: String,
    },
}

/// Why a pipeline can't be put onto a recording.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OntoError {
    /// Nothing feeds a source.
    #[error("stage \"{stage}\": {error}")]
    Source {
        /// The source.
        stage: String,
        /// Why.
        error: OutputError,
    },
    /// A source with several outputs in use.
    #[error("stage \"{stage}\" feeds others by several outputs, which a recording can't stand for")]
    SeveralOutputs {
        /// The source.
        stage: String,
    },
    /// What is recorded is not what is taken.
    #[error("stage \"{to}\" takes {takes}, and {from} of the recording gives {gives}")]
    Schema {
        /// Who takes.
        to: String,
        /// What.
        takes: String,
        /// The recorded output.
        from: String,
        /// What it gives.
        gives: String,
    },
    /// Nothing is left but sources.
    #[error("no stage is left that could be run on a recording")]
    Nothing,
}

/// Puts a pipeline onto a recording. Its plugins are all in the catalogue: a pipeline file has been read so.
///
/// # Errors
/// See [`OntoError`].
pub fn onto(
    pipeline: &Pipeline,
    recording: &Recording,
    file: &Path,
    catalogue: &Catalogue,
) -> Result<Onto, OntoError> {
    let manifests: Vec<Manifest> = pipeline
        .stages
        .iter()
        .map(|stage| manifest(stage, catalogue))
        .collect();
    let stages = pipeline.stages.iter();
    let acts: Vec<bool> = stages.map(|stage| acts(stage, catalogue)).collect();
    let (kept, mut changes) = kept(pipeline, &manifests, &acts);
    if kept.iter().all(|&stage| manifests[stage].inputs.is_empty()) {
        return Err(OntoError::Nothing);
    }
    let edges = edges_among(&kept, &pipeline.edges);
    let manifests: Vec<&Manifest> = kept.iter().map(|&stage| &manifests[stage]).collect();
    let mut stages: Vec<Stage> = kept
        .iter()
        .map(|&stage| pipeline.stages[stage].clone())
        .collect();
    let names: Vec<String> = stages.iter().map(|stage| stage.name.clone()).collect();
    let mut played = vec![None; stages.len()];
    let mut onto = Pipeline {
        name: pipeline.name.clone(),
        stages: Vec::new(),
        edges,
        on_stop: OnStop::Drop,
        record: None,
    };
    for (index, (stage, manifest)) in stages.iter_mut().zip(&manifests).enumerate() {
        // One board that goes wrong must not end the comparison: what goes wrong is told.
        stage.on_error = OnError::Skip;
        if manifest.inputs.is_empty() {
            let takers = Takers {
                edges: &onto.edges,
                names: &names,
                manifests: &manifests,
            };
            let topic = source(index, stage, recording, &takers)?;
            let from = shown(&topic);
            let plugin = play(stage, &topic, file);
            changes.push(Change {
                stage: stage.name.clone(),
                plugin,
                what: What::Recorded { from },
            });
            played[index] = Some(topic);
            // The player has one output.
            let leaving = onto.edges.iter_mut();
            leaving
                .filter(|edge| edge.from.stage == index)
                .for_each(|edge| edge.from.port = 0);
        } else if needs_stand_in(manifest, catalogue) {
            changes.push(Change {
                stage: stage.name.clone(),
                plugin: manifest.name.clone(),
                what: What::Replaced { by: REFEREE.into() },
            });
            stage.contestants = vec![contestant(REFEREE, json!({}))];
        }
    }
    onto.stages = stages;
    let place = |change: &Change| {
        pipeline
            .stages
            .iter()
            .position(|it| it.name == change.stage)
    };
    changes.sort_by_key(place);
    let recorded = recording.entries().len();
    lose_nothing(&mut onto, (recorded + SPARE).min(WIDEST));
    Ok(Onto {
        pipeline: onto,
        played,
        changes,
    })
}

/// The manifest that speaks for a stage.
pub fn manifest(stage: &Stage, catalogue: &Catalogue) -> Manifest {
    let first = stage.contestants.first();
    let found = first.and_then(|first| catalogue.find(&first.plugin));
    found.map_or_else(Manifest::default, |found| found.manifest.clone())
}

/// Whether a plugin of a stage acts on the world. Effects of other roles are those that the user wrote into his pipeline: a
/// solver that is a command is compared as any other.
fn acts(stage: &Stage, catalogue: &Catalogue) -> bool {
    const MEANS: [EffectKind; 2] = [EffectKind::RunsCommands, EffectKind::UsesNetwork];
    let mut plugins = stage.contestants.iter();
    plugins.any(|it| {
        let found = catalogue.find(&it.plugin);
        found.is_some_and(|found| found.manifest.acts(&MEANS, &it.config))
    })
}

/// The stages that are run, and why the others are not. `acts`: by stage, whether it acts on the world.
fn kept(pipeline: &Pipeline, manifests: &[Manifest], acts: &[bool]) -> (Vec<usize>, Vec<Change>) {
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
        .map(|(index, stage)| Change {
            stage: stage.name.clone(),
            plugin: plugins(stage),
            what: match acts[index] {
                true => What::ActsOnTheWorld,
                false => What::Unfed,
            },
        });
    let changes = changes.collect();
    (kept, changes)
}

/// The plugins of a stage, in words.
pub fn plugins(stage: &Stage) -> String {
    let names = stage.contestants.iter().map(|it| it.plugin.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The edges that join stages that are kept, by their new numbers.
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

/// Who takes what a source gives.
struct Takers<'a> {
    edges: &'a [Edge],
    names: &'a [String],
    manifests: &'a [&'a Manifest],
}

/// Which recorded output feeds a source.
fn source(
    index: usize,
    stage: &Stage,
    recording: &Recording,
    takers: &Takers<'_>,
) -> Result<Topic, OntoError> {
    let edges = takers.edges.iter();
    let leaving: Vec<&Edge> = edges.filter(|edge| edge.from.stage == index).collect();
    let port = leaving.first().map_or(0, |edge| edge.from.port);
    if leaving.iter().any(|edge| edge.from.port != port) {
        return Err(OntoError::SeveralOutputs {
            stage: stage.name.clone(),
        });
    }
    let port = takers.manifests[index].outputs.get(port);
    let port = port.map_or("", |port| &port.name);
    let (plugin, config) = stage
        .contestants
        .first()
        .map_or(("", &Value::Null), |it| (&it.plugin, &it.config));
    let topic = output::find(recording, &stage.name, port, plugin, config).map_err(|error| {
        OntoError::Source {
            stage: stage.name.clone(),
            error,
        }
    })?;
    let gives = Port {
        name: topic.port.to_string(),
        schema: output::schema(recording, &topic).unwrap_or("*").to_owned(),
    };
    for edge in leaving {
        let input = &takers.manifests[edge.to.stage].inputs[edge.to.port];
        if !gives.meets(input) {
            return Err(OntoError::Schema {
                to: takers.names[edge.to.stage].clone(),
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

/// Makes a source play an output of the recording. Gives the plugin that it had.
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
    }
}

/// Whether it is a referee of the clock, with the ports of the one that stands in.
fn needs_stand_in(manifest: &Manifest, catalogue: &Catalogue) -> bool {
    let is_referee = manifest.outputs.iter().any(|port| port.schema == RESULT);
    let fits = catalogue.find(REFEREE).is_some_and(|it| {
        it.manifest.inputs == manifest.inputs && it.manifest.outputs == manifest.outputs
    });
    is_referee && !manifest.deterministic && fits
}

/// Makes every queue wait. On a cycle that could wait for itself; there queues are so wide that they never
/// fill.
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
