//! Runs puzzles through a solver plugin, and their solutions through a planner.
//!
//! It runs pipelines of two stages, `capture-puzzles` and the solver, or of three with the planner. The plugins are
//! loaded, timed, cancelled and checked as in any other pipeline. Puzzles may be many and answered within microseconds,
//! so that the rest costs more than the search: each text is written and read no more often than the plugin boundary
//! needs.

mod matcher;
mod observer;

use std::ops::ControlFlow;
use std::sync::Arc;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::ConfigError;
use flowpipe_engine::run::{Options, Run, RunHandle};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::message::{Solved, Stroke};
use flowpipe_puzzle::{Puzzle, text};
use matcher::ReplyMatcher;
use observer::{SolverEvent, SolverObserver};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::follow::follow_until;
use crate::one_off::{FlagValue, OneOffError, PipelineText};
use crate::{one_off, outputs};

/// The capacity of each queue, in messages. With a short one both ends sleep often, and to wake them costs more than a
/// quick solver takes.
const QUEUE: usize = 48;

/// The planner's stage.
const PLANNER: &str = "planner";
/// The plugin of the first stage.
pub const SOURCE: &str = "capture-puzzles";

/// Which plugins run, and how.
#[derive(Clone, Debug)]
pub struct SolverOptions<'a> {
    /// The solver plugin's name.
    pub solver: FlagValue<'a>,
    /// Its config as a TOML inline table.
    pub config: Option<FlagValue<'a>>,
    /// The planner. `None`: solutions are not planned.
    pub planner: Option<PlannerOptions<'a>>,
    /// The timeout of one puzzle, and of one plan, as in a pipeline file.
    pub timeout: Option<FlagValue<'a>>,
    /// The number of pipelines that run in parallel, each with its share of the puzzles.
    pub jobs: usize,
}

/// Which planner runs, and how.
#[derive(Clone, Debug)]
pub struct PlannerOptions<'a> {
    /// The planner plugin's name.
    pub name: FlagValue<'a>,
    /// Its config as a TOML inline table.
    pub config: Option<FlagValue<'a>>,
}

/// How a solution is drawn. The strokes have been checked.
#[derive(Clone, Debug)]
pub struct StrokePlan {
    /// In the order of play.
    pub strokes: Vec<Stroke>,
    /// The planner's own time, microseconds. The time of the call where the plugin sets no marks.
    pub plan_us: f64,
}

impl StrokePlan {
    /// Straight lines in all strokes, however many points lie on them.
    pub fn segments(&self) -> usize {
        self.strokes.iter().map(Stroke::segments).sum()
    }
}

/// The reply to one puzzle.
#[derive(Debug)]
pub enum Reply {
    /// Of the solver.
    Solver(SolverReply),
    /// Of the planner, to a solution: the plan, or why there is none.
    Planner(Result<StrokePlan, String>),
}

/// An answer. The puzzle in it is known, and the check has read it.
pub type ReadAnswer = Solved<IgnoredAny>;

/// The solver's reply to one puzzle.
#[derive(Debug)]
pub enum SolverReply {
    /// The solver's answer, which has been checked.
    Answer {
        /// The answer.
        solved: Arc<ReadAnswer>,
        /// The solver's own time, microseconds. The time of the call where the plugin sets no marks.
        search_us: f64,
        /// The time of the call, microseconds.
        call_us: f64,
    },
    /// It exceeded the timeout.
    TimedOut(String),
    /// The solver failed, or its answer broke the rules.
    Failed(String),
}

/// Runs puzzles through a solver and passes each reply, with the index of its puzzle, to `each`, in the order of the
/// replies, until `each` breaks, and `None` now and then while there are no replies. A plan follows its answer. A
/// puzzle may get a second reply (a failure after its answer) or, where a stage failed, none.
///
/// # Errors
/// See [`OneOffError`].
pub fn run(
    puzzles: &[&Puzzle],
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
    each: impl FnMut(Option<(usize, Reply)>) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    let pipeline = prepare(options, catalogue)?;
    outputs::note_inputs_of(&pipeline, catalogue);
    let lines = puzzles.iter().map(|it| text::write_line(it)).collect();
    run_lines(lines, &pipeline, options.jobs, catalogue, each)
}

/// The pipeline of a solver, and of a planner.
///
/// # Errors
/// When a plugin has another role, or the options are wrong.
pub fn prepare(
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
) -> Result<Pipeline, OneOffError> {
    one_off::check_role(&options.solver, "solver", catalogue)?;
    if let Some(planner) = &options.planner {
        one_off::check_role(&planner.name, "planner", catalogue)?;
    }
    pipeline(options, catalogue).map_err(OneOffError::Config)
}

/// The same as [`run`] with the texts of puzzles and a pipeline that is prepared.
///
/// # Errors
/// See [`OneOffError`].
pub fn run_lines(
    lines: Vec<String>,
    pipeline: &Pipeline,
    jobs: usize,
    catalogue: &Catalogue,
    mut each: impl FnMut(Option<(usize, Reply)>) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    let jobs = jobs.clamp(1, lines.len().max(1));
    let mut shares: Vec<Vec<Value>> = vec![Vec::new(); jobs];
    for (lane, line) in (0..jobs).cycle().zip(lines) {
        if let Some(share) = shares.get_mut(lane) {
            share.push(line.into());
        }
    }
    let (sender, events) = crossbeam_channel::unbounded();
    let mut handles: Vec<RunHandle> = Vec::new();
    for (lane, share) in shares.into_iter().enumerate() {
        let mut pipeline = pipeline.clone();
        let source = pipeline.stages.first_mut();
        if let Some(source) = source.and_then(|it| it.contestants.first_mut()) {
            source.config = json!({});
            source.config["puzzles"] = share.into();
        }
        let options = Options {
            observers: vec![Arc::new(SolverObserver::new(lane, sender.clone()))],
            ..Options::default()
        };
        handles.push(Run::start(pipeline, catalogue, options)?);
    }
    let mut ended = Ok(());
    let mut matcher = ReplyMatcher::default();
    let is_over = || handles.iter().all(RunHandle::is_over);
    let _ = follow_until(is_over, &events, |event: Option<SolverEvent>| {
        let reply = match event {
            None => None,
            Some(event) => {
                let lane = event.lane;
                let Some((place, reply)) = matcher.reply(event) else {
                    return ControlFlow::Continue(());
                };
                Some((place * jobs + lane, reply))
            }
        };
        each(reply).map_break(|result| ended = result)
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

/// The pipeline.
fn pipeline(
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
) -> Result<Pipeline, Vec<ConfigError>> {
    let timeout = options.timeout.as_ref();
    let mut text = PipelineText::new("[stages.puzzles]\nplugin = \"capture-puzzles\"\n");
    let solver = &options.solver;
    text.add_stage(
        "solver",
        solver,
        "puzzles",
        options.config.as_ref(),
        timeout,
    );
    if let Some(planner) = &options.planner {
        let config = planner.config.as_ref();
        text.add_stage(PLANNER, &planner.name, "solver", config, timeout);
    }
    let mut pipeline = text.read(catalogue)?;
    for edge in &mut pipeline.edges {
        edge.queue.capacity = QUEUE;
    }
    Ok(pipeline)
}
