//! Builds stages and edges from a pipeline, before any plugin is created.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock, Weak};

use crossbeam_channel::Receiver;
use flowpipe_config::manifest::Manifest;
use flowpipe_config::manifest::effects::OneWorker;
use flowpipe_config::pipeline::{self, Edge, Pipeline};
use flowpipe_config::reader::cycle::blocking_cycles;
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::table::Services;

use crate::check;
use crate::edge::cycle::{Cycle, Inlet, cycles};
use crate::edge::fed_input::{FedInput, InputPort};
use crate::edge::inputs::{InEdge, Inputs};
use crate::edge::outputs::{OutEdge, OutPort, Outputs};
use crate::edge::{self};
use crate::run::Options;
use crate::run::error::StartError;
use crate::run::event::ControlEvent;
use crate::run::message_schemas;
use crate::run::names::Names;
use crate::run::remote::{self, DividedCycle, FromOther, RemoteEnds, ToOther};
use crate::run::replay::{Replay, fed_inputs};
use crate::run::shared::Shared;
use crate::run::stage::{Ports, Stage};
use crate::run::summary::EdgeSummary;

/// Everything that the control thread needs.
pub(crate) struct Plan {
    pub name: String,
    pub shared: Arc<Shared>,
    pub stages: Vec<Arc<Stage>>,
    /// The plugins of each stage.
    pub found: Vec<Vec<Found>>,
    pub edges: Vec<Arc<EdgeSummary>>,
    pub events: Receiver<ControlEvent>,
    /// The pipeline that the stages and edges were built from.
    pub pipeline: Pipeline,
    /// The ends of the edges to and from stages that other machines run.
    pub remote: RemoteEnds,
}

impl Plan {
    pub(crate) fn new(
        pipeline: Pipeline,
        catalogue: &Catalogue,
        options: Options,
    ) -> Result<Self, StartError> {
        let mut found = find_plugins(&pipeline, catalogue, options.replay.as_deref())?;
        remote::check(&pipeline, &options)?;
        let manifest = |(stage, found): (usize, &Vec<Found>)| match (found.first(), &options.replay)
        {
            (Some(found), _) => found.manifest.clone(),
            // A stage that is not rerun: its messages come from the recording.
            (None, Some(replay)) => replay.manifest(stage),
            (None, None) => Manifest::default(),
        };
        let manifests: Vec<_> = found.iter().enumerate().map(manifest).collect();
        let manifests: Vec<_> = manifests.iter().collect();
        check_edges(&pipeline, &manifests)?;
        let message_schemas = message_schemas::declared(&pipeline, &found)?;
        let elsewhere = &options.elsewhere | &options.fed;
        let Joined {
            ports,
            summaries: edges,
            to_others,
            from_others,
            divided,
        } = join(&pipeline, &manifests, &elsewhere, &options.fed);
        let services = Arc::new(Services {
            clock: options.clock,
            pool: Pool::new(pipeline.stages.len()),
            run: OnceLock::new(),
        });
        let (sender, events) = crossbeam_channel::unbounded();
        let names = Names::new(&pipeline, &manifests);
        let on_stop = pipeline.on_stop;
        let shared = Arc::new(Shared::new(services, options, names, on_stop, sender));
        let running = manifests_of(&found, &manifests);
        let checks = &shared.checks;
        check::warn_of_unused(&running, catalogue);
        checks.add(checks.start(&running, catalogue, &shared.services)?);
        shared.set_message_schemas(message_schemas);
        // The services are new: it is not set yet.
        let run: Weak<Shared> = Arc::downgrade(&shared);
        let _ = shared.services.run.set(run);
        let stages: Vec<_> = pipeline
            .stages
            .iter()
            .cloned()
            .zip(&manifests)
            .zip(ports)
            .enumerate()
            .map(|(index, ((stage, manifest), ports))| {
                Arc::new(Stage::new(shared.clone(), index, stage, manifest, ports))
            })
            .collect();
        if let Some(replay) = &shared.replay {
            fed_inputs::connect(replay.recording(), &pipeline, &stages, &found, catalogue);
        }
        let remote = RemoteEnds::new(&stages, to_others, from_others, divided);
        // These stages are not created. Their manifests are of use, and the checks of their messages.
        for &stage in &elsewhere {
            found[stage].clear();
        }
        let driving = stages.iter().zip(&found);
        let driving = driving.filter(|(stage, found)| stage.drives_mouse(found));
        let driving = driving.map(|(stage, _)| stage.settings.name.clone());
        shared.set_drives_mouse(driving.collect());
        Ok(Self {
            name: pipeline.name.clone(),
            shared,
            stages,
            found,
            edges,
            events,
            pipeline,
            remote,
        })
    }
}

/// The manifests of all plugins that run. A stage whose messages come from a recording has none.
fn manifests_of<'a>(found: &'a [Vec<Found>], manifests: &[&'a Manifest]) -> Vec<&'a Manifest> {
    let plugins = found.iter().flatten().map(|found| &found.manifest);
    let stages = manifests.iter().copied().zip(found);
    let running = stages.filter(|(_, found)| !found.is_empty());
    plugins
        .chain(running.map(|(manifest, _)| manifest))
        .collect()
}

pub(crate) fn misfit(stage: &str, reason: String) -> StartError {
    StartError::Misfit {
        stage: stage.to_owned(),
        reason,
    }
}

/// Finds the plugins of each stage: at least one, and all with the same ports. None for a stage whose messages come
/// from a recording.
pub(crate) fn find_plugins(
    pipeline: &Pipeline,
    catalogue: &Catalogue,
    replay: Option<&Replay>,
) -> Result<Vec<Vec<Found>>, StartError> {
    let mut all = Vec::new();
    for (index, stage) in pipeline.stages.iter().enumerate() {
        if replay.is_some_and(|replay| !replay.runs_again(index)) {
            all.push(Vec::new());
            continue;
        }
        let mut plugins: Vec<Found> = Vec::new();
        for contestant in &stage.contestants {
            let found =
                catalogue
                    .find(&contestant.plugin)
                    .ok_or_else(|| StartError::UnknownPlugin {
                        stage: stage.name.clone(),
                        plugin: contestant.plugin.clone(),
                    })?;
            plugins.push(found.with_config(&contestant.config));
        }
        let Some(first) = plugins.first().map(|found| &found.manifest) else {
            return Err(misfit(&stage.name, "it has no plugin".into()));
        };
        if plugins.len() > 1 && first.inputs.is_empty() {
            return Err(misfit(
                &stage.name,
                "a stage without inputs can't race".into(),
            ));
        }
        check_workers(stage, &plugins)?;
        for other in &plugins {
            let other = &other.manifest;
            if other.inputs != first.inputs || other.outputs != first.outputs {
                let reason = format!(
                    "{} and {} can't race: their inputs and outputs differ",
                    first.name, other.name
                );
                return Err(misfit(&stage.name, reason));
            }
        }
        all.push(plugins);
    }
    Ok(all)
}

/// Checks that a stage can have its number of workers.
fn check_workers(stage: &pipeline::Stage, plugins: &[Found]) -> Result<(), StartError> {
    let most = pipeline::Stage::MAX_WORKERS;
    if !(1..=most).contains(&stage.workers) {
        let reason = format!("a stage has 1 to {most} workers, not {}", stage.workers);
        return Err(misfit(&stage.name, reason));
    }
    let mut all = plugins.iter().zip(&stage.contestants);
    let why = all.find_map(|(found, it)| found.manifest.why_one_worker(&it.config));
    let reason = match why.filter(|_| stage.workers > 1) {
        None => return Ok(()),
        Some(OneWorker::Source) => "a source can't have several workers",
        Some(OneWorker::DrivesMouse) => {
            "it drives the mouse, so it can't have several workers: there is one mouse"
        }
    };
    Err(misfit(&stage.name, reason.into()))
}

pub(crate) fn check_edges(pipeline: &Pipeline, manifests: &[&Manifest]) -> Result<(), StartError> {
    for edge in &pipeline.edges {
        let (from, to) = (edge.from, edge.to);
        let output = manifests
            .get(from.stage)
            .and_then(|it| it.outputs.get(from.port));
        let input = manifests
            .get(to.stage)
            .and_then(|it| it.inputs.get(to.port));
        let receiver = pipeline
            .stages
            .get(to.stage)
            .map_or("?", |stage| &stage.name);
        let (Some(output), Some(input)) = (output, input) else {
            return Err(misfit(
                receiver,
                format!("no such ports: {from:?} to {to:?}"),
            ));
        };
        if !output.meets(input) {
            let reason = format!(
                "input \"{}\" takes {}, but is fed with {}",
                input.name, input.schema, output.schema
            );
            return Err(misfit(receiver, reason));
        }
        if !output.carries.meets(&input.carries) {
            let giver = pipeline.stages.get(from.stage);
            let reason = format!(
                "input \"{}\" carries {}, but output \"{}\" of stage \"{}\" carries {}: let both declare the same with \
                 `carries`, or put a stage between them that converts",
                input.name,
                input.carries,
                output.name,
                giver.map_or("?", |stage| &stage.name),
                output.carries
            );
            return Err(misfit(receiver, reason));
        }
        if edge.queue.capacity == 0 {
            return Err(misfit(
                receiver,
                "a queue must hold at least one message".into(),
            ));
        }
    }
    let cycles = blocking_cycles(pipeline.stages.len(), &pipeline.edges);
    if let Some(&edge) = cycles.iter().flatten().next() {
        let stage = pipeline.edges[edge].from.stage;
        let reason = "it lies on a cycle of blocking queues, which can wait for itself forever";
        return Err(misfit(&pipeline.stages[stage].name, reason.into()));
    }
    Ok(())
}

/// The edges of a pipeline, as their ends.
struct Joined {
    /// By stage.
    ports: Vec<Ports>,
    summaries: Vec<Arc<EdgeSummary>>,
    to_others: Vec<ToOther>,
    from_others: Vec<FromOther>,
    divided: Vec<DividedCycle>,
}

/// Creates the edges and gives their ends to the stages. `elsewhere`: the stages that do not run here. `fed`: those whose
/// messages the caller makes.
fn join(
    pipeline: &Pipeline,
    manifests: &[&Manifest],
    elsewhere: &BTreeSet<usize>,
    fed: &BTreeSet<usize>,
) -> Joined {
    let mut heads: Vec<Vec<_>> = manifests.iter().map(|_| Vec::new()).collect();
    let mut outputs: Vec<Vec<OutPort>> = manifests
        .iter()
        .map(|manifest| {
            manifest
                .outputs
                .iter()
                .map(|_| OutPort::default())
                .collect()
        })
        .collect();
    let mut summaries = Vec::new();
    let (mut to_others, mut from_others) = (Vec::new(), Vec::new());
    for (index, edge) in pipeline.edges.iter().enumerate() {
        let is_here = |stage| !elsewhere.contains(&stage);
        let ends = (is_here(edge.from.stage), is_here(edge.to.stage));
        let (tail, head) = edge::edge(match ends {
            (true, false) => remote::queue_to(edge.queue),
            (false, true) if !fed.contains(&edge.from.stage) => remote::queue_from(edge.queue),
            _ => edge.queue,
        });
        let (from, to) = names(pipeline, manifests, edge);
        let name = format!("{from} -> {to}");
        summaries.push(Arc::new(EdgeSummary {
            from,
            to,
            receiver: edge.to.stage,
            capacity: AtomicUsize::new(edge.queue.capacity),
            counters: tail.counters.clone(),
            most_lost: AtomicU64::new(0),
        }));
        let fed = FedInput {
            stage: pipeline.stages[edge.to.stage].name.clone(),
            input: InputPort::new(&manifests[edge.to.stage].inputs[edge.to.port]),
        };
        let out_edge = OutEdge::new(index, name, fed, tail);
        match ends {
            (true, _) => outputs[edge.from.stage][edge.from.port].add(out_edge),
            (false, true) => from_others.push(FromOther {
                index,
                edge: *edge,
                sender: out_edge,
            }),
            // No message of it comes here.
            (false, false) => {}
        }
        match ends {
            (_, true) => heads[edge.to.stage].push(InEdge {
                index,
                port: edge.to.port,
                head,
            }),
            (true, false) => to_others.push(ToOther {
                index,
                edge: *edge,
                receiver: head,
            }),
            (false, false) => {}
        }
    }
    let of = cycles(pipeline.stages.len(), &pipeline.edges);
    let all = make_cycles(pipeline, &summaries, &of, elsewhere);
    let divided = remote::divided_cycles(&of, &all, elsewhere);
    let of_stages = of.iter().map(|cycle| cycle.map(|cycle| all[cycle].clone()));
    let ports = heads
        .into_iter()
        .zip(outputs)
        .zip(of_stages)
        .map(|((heads, outputs), cycle)| Ports {
            inputs: Inputs::new(heads, cycle),
            outputs: Outputs::new(outputs),
        })
        .collect();
    Joined {
        ports,
        summaries,
        to_others,
        from_others,
        divided,
    }
}

/// Stage and port of both ends, such as `screen.out`.
pub(crate) fn names(pipeline: &Pipeline, manifests: &[&Manifest], edge: &Edge) -> (String, String) {
    let name = |stage: usize, port: &str| format!("{}.{port}", pipeline.stages[stage].name);
    let (from, to) = (edge.from, edge.to);
    (
        name(from.stage, &manifests[from.stage].outputs[from.port].name),
        name(to.stage, &manifests[to.stage].inputs[to.port].name),
    )
}

/// The cycles, of which this is the one of each stage.
fn make_cycles(
    pipeline: &Pipeline,
    edges: &[Arc<EdgeSummary>],
    of: &[Option<usize>],
    elsewhere: &BTreeSet<usize>,
) -> Vec<Arc<Cycle>> {
    let count = of.iter().flatten().max().map_or(0, |last| last + 1);
    let is_here = |stage: usize| !elsewhere.contains(&stage);
    (0..count)
        .map(|cycle| {
            let is_of = |stage: usize| of[stage] == Some(cycle);
            let inlets = pipeline.edges.iter().zip(edges).filter(|(edge, _)| {
                let [from, to] = [edge.from.stage, edge.to.stage];
                // An edge from outside is counted where its receiver is.
                is_of(to) && (is_here(to) || is_of(from) && is_here(from))
            });
            let inlets = inlets.map(|(edge, summary)| Inlet {
                counters: summary.counters.clone(),
                inside: is_of(edge.from.stage),
            });
            let is_divided = elsewhere.iter().any(|&stage| is_of(stage));
            Cycle::divided(inlets.collect(), is_divided)
        })
        .collect()
}
