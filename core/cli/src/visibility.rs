//! Which stages of a pipeline have their messages shown.

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{Isolation, Pipeline, Stage};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_puzzle::message::{RESULT, SOLVED, concerns_boards};

/// The stages of a pipeline, and which of them are shown.
pub struct Visibility {
    /// The names, by stage.
    pub names: Vec<String>,
    /// Whether the messages are shown, by stage. A referee forwards messages of other stages.
    pub is_shown: Vec<bool>,
    /// Whether a stage emits the result of each board.
    pub has_referee: bool,
    /// Whether a stage emits what concerns boards.
    pub has_boards: bool,
    /// Whether a stage emits solutions of boards, here or to a stage here.
    pub has_solver: bool,
    /// How many boards a referee is to end the run after, if it is.
    pub wanted_boards: Option<u64>,
    /// Whether a stage writes messages to standard output, which is for them alone then.
    pub writes_stdout: bool,
}

impl Visibility {
    /// Of a pipeline. `counted`: the part of it whose boards are counted here; the others are on other machines.
    pub fn of(pipeline: &Pipeline, counted: &Pipeline, catalogue: &Catalogue) -> Self {
        let shown = plugins(pipeline, catalogue).map(|found| is_shown(found.as_ref()));
        let is_shown: Vec<bool> = shown.collect();
        Self {
            names: pipeline
                .stages
                .iter()
                .map(|stage| stage.name.clone())
                .collect(),
            has_referee: is_shown.contains(&false),
            has_boards: has_boards(counted, catalogue),
            has_solver: has_solver(pipeline, counted, catalogue),
            wanted_boards: wanted_boards(pipeline, &is_shown),
            writes_stdout: writes_stdout(pipeline),
            is_shown,
        }
    }
}

/// Whether a stage of a pipeline emits what concerns boards.
pub fn has_boards(pipeline: &Pipeline, catalogue: &Catalogue) -> bool {
    plugins(pipeline, catalogue)
        .flatten()
        .any(|found| emits_boards(&found))
}

/// The first plugin of each stage, with its config.
fn plugins<'a>(
    pipeline: &'a Pipeline,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = Option<Found>> + 'a {
    pipeline.stages.iter().map(|stage| {
        let first = stage.contestants.first()?;
        let found = catalogue.find(&first.plugin)?;
        Some(found.with_config(&first.config))
    })
}

/// Whether the messages of a stage with that plugin are shown.
pub fn is_shown(found: Option<&Found>) -> bool {
    found.is_none_or(|found| !is_referee(&found.manifest))
}

/// How many boards a referee is to end the run after: the stage whose messages are not shown.
fn wanted_boards(pipeline: &Pipeline, is_shown: &[bool]) -> Option<u64> {
    let stages = pipeline.stages.iter().zip(is_shown);
    let referees = stages.filter(|(_, is_shown)| !**is_shown);
    let configs = referees.filter_map(|(stage, _)| stage.contestants.first());
    configs
        .filter_map(|first| first.config.get("boards")?.as_u64())
        .max()
}

/// Whether a `sink-jsonl` has standard output. In a process of its own it has none.
fn writes_stdout(pipeline: &Pipeline) -> bool {
    let threads = |stage: &&Stage| stage.isolation == Isolation::Thread;
    let stages = pipeline.stages.iter().filter(threads);
    let mut plugins = stages.flat_map(|stage| &stage.contestants);
    plugins.any(|it| it.plugin == "sink-jsonl" && it.config.get("stdout") == Some(&true.into()))
}

fn emits_boards(found: &Found) -> bool {
    // Messages of an output of any schema are counted once there are some.
    let mut outputs = found.manifest.outputs.iter();
    outputs.any(|port| concerns_boards(&port.schema))
}

/// Whether solutions of boards are emitted by the stages that are counted here, or sent to them.
fn has_solver(pipeline: &Pipeline, counted: &Pipeline, catalogue: &Catalogue) -> bool {
    let is_here = |stage: usize| {
        let stage = pipeline.stages.get(stage);
        stage.is_some_and(|stage| counted.stages.iter().any(|it| it.name == stage.name))
    };
    let mut stages = plugins(pipeline, catalogue).enumerate();
    stages.any(|(stage, found)| {
        let solves = found.is_some_and(|found| emits_solutions(&found));
        let mut edges = pipeline.edges.iter();
        solves && (is_here(stage) || edges.any(|it| it.from.stage == stage && is_here(it.to.stage)))
    })
}

fn emits_solutions(found: &Found) -> bool {
    let mut outputs = found.manifest.outputs.iter();
    outputs.any(|port| port.schema == SOLVED)
}

/// A referee emits the results of boards.
fn is_referee(manifest: &Manifest) -> bool {
    manifest.outputs.iter().any(|port| port.schema == RESULT)
}
