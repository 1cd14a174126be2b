//! The description of a run that starts its recording.

use flowpipe_config::pipeline::{self, Edge, Isolation, Pipeline, PortRef, WhenFull};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::clock::Clock;
use flowpipe_recording::entry::{About, AboutEdge, AboutPlugin, AboutStage};
use flowpipe_recording::{FORMAT, file_hash};

/// Describes a run that is about to start. `file`: the pipeline's file, for display. Plugins that the catalogue lacks
/// are left out: such a pipeline fails to start.
#[must_use]
pub fn about(
    pipeline: &Pipeline,
    catalogue: &Catalogue,
    file: &str,
    clock: &Clock,
    dry: bool,
) -> About {
    let stages: Vec<_> = pipeline
        .stages
        .iter()
        .enumerate()
        .map(|(number, stage)| {
            let contestants = stage.contestants.iter();
            let found = contestants.map(|it| {
                let found = catalogue.find(&it.plugin)?;
                Some(found.with_config(&it.config))
            });
            let found: Vec<_> = found.collect();
            let found: Vec<_> = found.iter().map(Option::as_ref).collect();
            AboutStage {
                machine: pipeline.machines.names(number),
                ..about_stage(stage, &found)
            }
        })
        .collect();
    let edges = pipeline.edges.iter();
    let edges = edges.filter_map(|edge| about_edge(&stages, edge)).collect();
    About {
        format: FORMAT,
        flowpipe: env!("CARGO_PKG_VERSION").to_owned(),
        name: pipeline.name.clone(),
        file: file.to_owned(),
        started_unix_ns: clock.start_unix_ns(),
        since_ns: None,
        excerpt: false,
        dry,
        stages,
        edges,
    }
}

/// Describes a stage, with the plugins that were found for its contestants, and without its machine: a run on several
/// does not change.
pub(super) fn about_stage(stage: &pipeline::Stage, found: &[Option<&Found>]) -> AboutStage {
    let manifest = found.first().copied().flatten();
    let manifest = manifest
        .map(|found| found.manifest.clone())
        .unwrap_or_default();
    let contestants = stage.contestants.iter().zip(found);
    AboutStage {
        name: stage.name.clone(),
        role: manifest.role,
        plugins: contestants
            .filter_map(|(it, found)| Some(plugin((*found)?, &it.config)))
            .collect(),
        inputs: manifest.inputs.into_iter().map(|port| port.name).collect(),
        outputs: manifest
            .outputs
            .into_iter()
            .map(|port| (port.name, port.schema))
            .collect(),
        timeout_ns: stage
            .timeout
            .map(|timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)),
        isolated: stage.isolation == Isolation::Process,
        workers: stage.workers,
        machine: None,
    }
}

/// Describes a queue between two of these stages.
pub(super) fn about_edge(stages: &[AboutStage], edge: &Edge) -> Option<AboutEdge> {
    Some(AboutEdge {
        from: output(stages, edge.from)?,
        to: input(stages, edge.to)?,
        capacity: edge.queue.capacity,
        when_full: word(edge.queue.when_full).to_owned(),
    })
}

fn plugin(found: &Found, config: &serde_json::Value) -> AboutPlugin {
    AboutPlugin {
        name: found.manifest.name.clone(),
        version: found.manifest.version.clone(),
        hash: file_hash(&found.path).unwrap_or_else(|error| {
            // The file was deleted after it was loaded: there is no hash.
            tracing::warn!(path = %found.path.display(), "failed to hash the plugin: {error}");
            String::new()
        }),
        config: config.clone(),
        deterministic: found.manifest.deterministic,
    }
}

fn output(stages: &[AboutStage], port: PortRef) -> Option<(String, String)> {
    let stage = stages.get(port.stage)?;
    Some((stage.name.clone(), stage.outputs.get(port.port)?.0.clone()))
}

fn input(stages: &[AboutStage], port: PortRef) -> Option<(String, String)> {
    let stage = stages.get(port.stage)?;
    Some((stage.name.clone(), stage.inputs.get(port.port)?.clone()))
}

fn word(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Block => "block",
        WhenFull::DropOldest => "drop-oldest",
        WhenFull::DropNewest => "drop-newest",
        WhenFull::Latest => "latest",
    }
}
