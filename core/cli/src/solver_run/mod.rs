//! Puzzles put to a solver plugin, and their solutions to a planner.
//!
//! It runs pipelines of two stages, `capture-puzzles` and the solver, or of three with the planner, so
//! that they are loaded, timed, cancelled and checked as in any other.

mod heard;
mod listen;

use std::ops::ControlFlow;
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::{self, ConfigError};
use flowpipe_engine::run::{Options, Run, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{Effort, Stroke, Verdict};
use heard::Heard;
use listen::{Listen, Told};
use serde_json::json;

use crate::args::Global;
use crate::commands::run::start_failure;
use crate::exit::{Ended, Failure};
use crate::follow::follow_until;
use crate::{checks, pipeline_file};

/// The planner's stage.
const PLANNER: &str = "planner";

/// Who is asked, and how.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The solver plugin's name.
    pub solver: &'a str,
    /// Its config as a TOML inline table.
    pub config: Option<&'a str>,
    /// Who plans how the solutions are drawn; nothing: nobody.
    pub planner: Option<AskPlanner<'a>>,
    /// How long one puzzle may take, and one plan, as a pipeline file says it.
    pub timeout: Option<&'a str>,
    /// So many pipelines side by side, each with its share of the puzzles.
    pub jobs: usize,
}

/// Which planner is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct AskPlanner<'a> {
    /// The planner plugin's name.
    pub name: &'a str,
    /// Its config as a TOML inline table.
    pub config: Option<&'a str>,
}

/// How a solution is drawn. The strokes have been checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order of play.
    pub strokes: Vec<Stroke>,
    /// The planner's own work, microseconds. The whole call where the plugin does not tell.
    pub plan_us: f64,
}

impl Plan {
    /// Straight lines in all strokes, however many points lie on them.
    pub fn segments(&self) -> usize {
        self.strokes.iter().map(Stroke::segments).sum()
    }
}

/// What is said of one puzzle.
#[derive(Debug)]
pub enum Said {
    /// By the solver.
    Solver(SolverSaid),
    /// By the planner, of a puzzle that is solved: how it is drawn, or why there is no plan that may be
    /// played.
    Planner(Result<Plan, String>),
}

/// What became of one puzzle.
#[derive(Debug)]
pub enum SolverSaid {
    /// The solver's answer, which has been checked.
    Answer {
        /// What it says.
        verdict: Verdict,
        /// What it cost.
        effort: Effort,
        /// The solver's own work, microseconds. The whole call where the plugin does not tell.
        search_us: f64,
        /// From taking the message to having given the answer, microseconds.
        call_us: f64,
    },
    /// It took longer than it may.
    TimedOut(String),
    /// The solver failed, or its answer broke the rules.
    Failed(String),
}

/// Why nobody could be asked, or asking ended early.
#[derive(Debug)]
pub enum AskError {
    /// The solver or its config can't be used.
    Config(Vec<ConfigError>),
    /// Anything else.
    Failure(Failure),
}

impl From<Failure> for AskError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// How a command ends that asked. `end`: what it has to say at last; what was answered before a run failed is not
/// held back.
///
/// # Errors
/// What asking or `end` failed with.
pub fn ended(
    asked: Result<(), AskError>,
    global: &Global,
    end: impl FnOnce() -> Result<Ended, Failure>,
) -> Result<Ended, Failure> {
    match asked {
        Ok(()) => end(),
        Err(AskError::Config(errors)) => {
            pipeline_file::show(errors, global);
            Ok(Ended::BadConfig)
        }
        Err(AskError::Failure(Failure::Run(reason))) => {
            end()?;
            Err(Failure::Run(reason))
        }
        Err(AskError::Failure(failure)) => Err(failure),
    }
}

/// What asking does once an answer was taken: it goes on, or ends with the failure.
pub fn taken(taken: Result<(), Failure>) -> ControlFlow<Result<(), Failure>> {
    match taken {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => ControlFlow::Break(Err(failure)),
    }
}

/// Puts puzzles to a solver and hands what is said of each, by its index, to `each`, in the order in
/// which the answers come, until `each` breaks off. A plan comes after its answer. A puzzle may be spoken
/// of once more (a failure after its answer) or, where a stage broke down, not at all.
///
/// # Errors
/// See [`AskError`].
pub fn ask(
    puzzles: &[&Puzzle],
    ask: &Ask<'_>,
    catalogue: &Catalogue,
    mut each: impl FnMut(usize, Said) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), AskError> {
    let jobs = ask.jobs.clamp(1, puzzles.len().max(1));
    let pipeline = pipeline(ask, catalogue).map_err(AskError::Config)?;
    let (sender, told) = crossbeam_channel::unbounded();
    let mut handles: Vec<RunHandle> = Vec::new();
    for lane in 0..jobs {
        let mut pipeline = pipeline.clone();
        // Canonical JSON, a puzzle a line: whatever could be read here can be read there.
        let lines: Vec<String> = puzzles
            .iter()
            .skip(lane)
            .step_by(jobs)
            .map(|puzzle| serde_json::to_string(puzzle).unwrap_or_default())
            .collect();
        let source = pipeline.stages.first_mut();
        if let Some(source) = source.and_then(|it| it.contestants.first_mut()) {
            source.config = json!({ "text": lines.join("\n") });
        }
        let options = Options {
            validators: checks::validators(),
            observers: vec![Arc::new(Listen::new(lane, sender.clone()))],
            ..Options::default()
        };
        handles.push(Run::start(pipeline, catalogue, options).map_err(start_failure)?);
    }
    let mut ended = Ok(());
    let mut heard = Heard::default();
    let is_over = || handles.iter().all(RunHandle::is_over);
    let _ = follow_until(is_over, &told, |one: Option<Told>| {
        let Some(one) = one else {
            return ControlFlow::Continue(());
        };
        let lane = one.lane;
        let Some((place, said)) = heard.hear(one) else {
            return ControlFlow::Continue(());
        };
        each(place * jobs + lane, said).map_break(|result| ended = result)
    });
    for handle in handles {
        handle.abort();
        let report = handle.wait();
        if let (Some(failure), Ok(())) = (report.failure, &ended) {
            ended = Err(Failure::Run(failure.to_string()));
        }
    }
    Ok(ended?)
}

/// The pipeline as a file would say it, so that the plugins' names and configs get the same checks.
fn pipeline(ask: &Ask<'_>, catalogue: &Catalogue) -> Result<Pipeline, Vec<ConfigError>> {
    let mut text = String::from("[stages.puzzles]\nplugin = \"capture-puzzles\"\n");
    text += &stage("solver", ask.solver, "puzzles", ask.config, ask.timeout);
    if let Some(planner) = &ask.planner {
        text += &stage(PLANNER, planner.name, "solver", planner.config, ask.timeout);
    }
    reader::read("command line", &text, catalogue)
}

/// A stage of such a pipeline, which goes on after what it can't answer.
pub fn stage(
    name: &str,
    plugin: &str,
    from: &str,
    config: Option<&str>,
    timeout: Option<&str>,
) -> String {
    let plugin = toml::Value::from(plugin);
    let mut text =
        format!("[stages.{name}]\nplugin = {plugin}\nfrom = \"{from}\"\non_error = \"skip\"\n");
    if let Some(timeout) = timeout {
        // A plugin that does not give up by itself is left behind, and made anew for the next puzzle.
        let timeout = toml::Value::from(timeout);
        text += &format!("timeout = {timeout}\nwatchdog = \"1s\"\n");
    }
    if let Some(config) = config {
        text += &format!("config = {config}\n");
    }
    text
}
