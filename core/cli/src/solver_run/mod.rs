//! Runs puzzles through a solver plugin, and their solutions through a planner.
//!
//! It runs pipelines of two stages, `capture-puzzles` and the solver, or of three with the planner. The plugins are
//! loaded, timed, cancelled and checked as in any other pipeline. The sightings of the first stage are made here
//! ([`lane`]), of puzzles that come one by one ([`source`]): so a run has any number of them, and takes as much memory as
//! the few that are in its queues. Puzzles may be answered within microseconds, so that the rest costs more than the
//! search: each text is written and read no more often than the plugin boundary needs.

mod lane;
mod load;
mod matcher;
mod observer;
mod size;
mod source;
mod stoppers;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::ConfigError;
use flowpipe_engine::run::StartError;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::message::{Solved, Stroke};
use lane::LaneContext;
use load::LaneLoad;
use matcher::ReplyMatcher;
use observer::{SolverEvent, SolverEventKind};
use serde::de::IgnoredAny;
pub use size::{plan_bytes, reply_bytes};
pub use source::{GivenPuzzle, PuzzleContent, PuzzleList, PuzzleSource, share};
use stoppers::Stoppers;

use crate::exit::Failure;
use crate::follow::follow_until;
use crate::one_off::{FlagValue, OneOffError, PipelineText};
use crate::{one_off, outputs};

/// The capacity of each queue, in messages. With a short one both ends sleep often, and to wake them costs more than a
/// quick solver takes.
const QUEUE: usize = 2 * BATCH;
/// The most puzzles that a pipeline is given at once. It has two such batches.
pub const BATCH: usize = 24;

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
    /// The number of pipelines that run in parallel, and share the puzzles.
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

impl Reply {
    /// Whether a plugin has failed: nothing more comes of the puzzle.
    fn is_failure(&self) -> bool {
        match self {
            Self::Solver(reply) => !matches!(reply, SolverReply::Answer { .. }),
            Self::Planner(plan) => plan.is_err(),
        }
    }
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

/// What comes of puzzles.
#[derive(Debug)]
pub enum RunReply {
    /// A reply to the puzzle at a place. A plan follows its answer. A puzzle may get a second reply (a failure after its
    /// answer) or, where a stage failed, none.
    Reply(usize, Reply),
    /// There are no more replies to the puzzle at a place, except for the failure of a plugin that hangs.
    Settled(usize),
    /// There are no replies at the moment.
    Idle,
}

/// Runs puzzles through a solver and passes what comes of them to `each`, in the order of the replies, until `each`
/// breaks.
///
/// # Errors
/// See [`OneOffError`].
pub fn run(
    source: &dyn PuzzleSource,
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
    each: impl FnMut(RunReply) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    let pipeline = prepare(options, catalogue)?;
    outputs::note_inputs_of(&pipeline, catalogue);
    run_prepared(source, &pipeline, options.jobs, catalogue, each)
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

/// The same as [`run`] with a pipeline that is prepared. `jobs`: how many run in parallel.
///
/// # Errors
/// See [`OneOffError`].
pub fn run_prepared(
    source: &dyn PuzzleSource,
    pipeline: &Pipeline,
    jobs: usize,
    catalogue: &Catalogue,
    mut each: impl FnMut(RunReply) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    let loads: Vec<Arc<LaneLoad>> = (0..jobs.max(1)).map(|_| Arc::default()).collect();
    let stoppers = Stoppers::default();
    let context = LaneContext {
        loads: &loads,
        source,
        pipeline,
        catalogue,
        stoppers: &stoppers,
    };
    let (sender, events) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let mut ended = Ok(());
        let mut threads = Vec::new();
        for lane in 0..loads.len() {
            let (context, sender) = (&context, sender.clone());
            let thread = std::thread::Builder::new().name("flowpipe-puzzles".into());
            let started = thread.spawn_scoped(scope, move || {
                let kind = SolverEventKind::Ended(lane::run(lane, context, &sender));
                // The receiver is gone once a reply broke the loop.
                let _ = sender.send(SolverEvent { lane, kind });
            });
            match started {
                Ok(thread) => threads.push(thread),
                // The lanes that have started do all the work.
                Err(_) if !threads.is_empty() => break,
                Err(error) => {
                    source.close();
                    ended = Err(StartError::Thread(error).into());
                    break;
                }
            }
        }
        let mut matcher = ReplyMatcher::default();
        let mut has_replied = false;
        let _ = follow_until(
            || threads.iter().all(ScopedJoinHandle::is_finished),
            &events,
            |event: Option<SolverEvent>| {
                let reply = match event {
                    None => Some(RunReply::Idle),
                    Some(SolverEvent {
                        kind: SolverEventKind::Ended(result),
                        ..
                    }) => {
                        if let Err(error) = result {
                            // The others do what they have.
                            source.close();
                            if ended.is_ok() {
                                ended = Err(error);
                            }
                        }
                        None
                    }
                    Some(SolverEvent {
                        lane,
                        kind: SolverEventKind::StagesEnded,
                    }) => {
                        if let Some(load) = loads.get(lane) {
                            load.close();
                        }
                        source.wake();
                        None
                    }
                    Some(event) => {
                        let lane = event.lane;
                        let reply = matcher.reply(event);
                        has_replied |= matches!(reply, Some(RunReply::Reply(..)));
                        if let Some(RunReply::Reply(place, reply)) = &reply
                            && reply.is_failure()
                            && let Some(load) = loads.get(lane)
                        {
                            load.remove(*place);
                        }
                        reply
                    }
                };
                let Some(reply) = reply else {
                    return ControlFlow::Continue(());
                };
                each(reply).map_break(|result| {
                    if ended.is_ok() {
                        ended = result.map_err(OneOffError::from);
                    }
                })
            },
        );
        source.close();
        stoppers.abort();
        loads.iter().for_each(|load| load.close());
        match ended {
            // Others have started, and their replies are there.
            Err(OneOffError::Start(failure)) if has_replied => {
                Err(Failure::Run(failure.to_string()).into())
            }
            _ => ended,
        }
    })
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
