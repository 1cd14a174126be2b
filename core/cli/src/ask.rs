//! Puzzles put to a solver plugin.
//!
//! It runs pipelines of two stages, `capture-puzzles` and the solver, so that the solver is loaded,
//! timed, cancelled and checked as in any other.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::{Effort, SOLVED, Solved, Verdict};
use flowpipe_runtime::config::{self, ConfigError};
use flowpipe_runtime::message::Message;
use flowpipe_runtime::pipeline::Pipeline;
use flowpipe_runtime::plugin::catalogue::Catalogue;
use flowpipe_runtime::problem::{Problem, ProblemKind};
use flowpipe_runtime::run::{Observer, Options, Run, RunHandle};
use serde_json::json;

use crate::checks;
use crate::commands::run::start_failure;
use crate::exit::Failure;
use crate::follow::follow_until;

/// The marks that the SDK sets around a solver's own work.
const SOLVING: &str = "solving";
const ANSWERED: &str = "answered";

/// Who is asked, and how.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The solver plugin's name.
    pub solver: &'a str,
    /// Its config as a TOML inline table.
    pub config: Option<&'a str>,
    /// How long one puzzle may take, as a pipeline file says it.
    pub timeout: Option<&'a str>,
    /// So many pipelines side by side, each with its share of the puzzles.
    pub jobs: usize,
}

/// What became of one puzzle.
#[derive(Debug)]
pub enum Said {
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

/// Puts puzzles to a solver and hands what is said of each, by its index, to `each`, in the order in
/// which the answers come, until `each` breaks off. A puzzle may be spoken of twice (a failure after its
/// answer) or, where a stage broke down, not at all.
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
            observer: Some(Arc::new(Listen::new(lane, sender.clone()))),
            ..Options::default()
        };
        handles.push(Run::start(pipeline, catalogue, options).map_err(start_failure)?);
    }
    let mut ended = Ok(());
    let is_over = || handles.iter().all(RunHandle::is_over);
    let _ = follow_until(is_over, &told, |one: Option<Told>| {
        let Some(one) = one else {
            return ControlFlow::Continue(());
        };
        let lane = one.lane;
        let Some((place, said)) = heard(one.what) else {
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

/// The pipeline as a file would say it, so that the solver's name and config get the same checks.
fn pipeline(ask: &Ask<'_>, catalogue: &Catalogue) -> Result<Pipeline, Vec<ConfigError>> {
    let mut text =
        String::from("[stages.puzzles]\nplugin = \"capture-puzzles\"\n[stages.solver]\n");
    text += &format!("plugin = {}\n", toml::Value::from(ask.solver));
    text += "from = \"puzzles\"\non_error = \"skip\"\n";
    if let Some(timeout) = &ask.timeout {
        // A plugin that does not give up by itself is left behind, and made anew for the next puzzle.
        text += &format!(
            "timeout = {}\nwatchdog = \"1s\"\n",
            toml::Value::from(*timeout)
        );
    }
    if let Some(config) = &ask.config {
        text += &format!("config = {config}\n");
    }
    config::read("command line", &text, catalogue)
}

/// What one pipeline tells.
struct Told {
    lane: usize,
    what: What,
}

enum What {
    /// An answer, with the nanoseconds of the solver's own work where it marks them.
    Message(Arc<Message>, Option<i64>),
    Problem(Problem),
}

struct Listen {
    lane: usize,
    told: Sender<Told>,
    clock: Mutex<Clock>,
}

/// The work on one message. It is kept here, not sent: waking whoever listens would be timed too.
#[derive(Default)]
struct Clock {
    /// The message's number and when the work on it began, by the run's clock.
    began: Option<(u64, i64)>,
    /// How long the work took.
    took: Option<i64>,
}

impl Listen {
    fn new(lane: usize, told: Sender<Told>) -> Self {
        Self {
            lane,
            told,
            clock: Mutex::default(),
        }
    }

    fn tell(&self, what: What) {
        // Nobody listens any more once asking has broken off.
        let _ = self.told.send(Told {
            lane: self.lane,
            what,
        });
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        // Nothing that holds it can panic half way.
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Listen {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        if message.schema() == SOLVED {
            let took = self.clock().took.take();
            self.tell(What::Message(Arc::clone(message), took));
        }
    }

    fn mark(&self, _: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        let Some(message) = message else { return };
        let sequence = message.lineage().sequence;
        let mut clock = self.clock();
        match name {
            SOLVING => clock.began = Some((sequence, now_ns)),
            // A plugin that was given up may still speak of an earlier message.
            ANSWERED => {
                clock.took = clock
                    .began
                    .take_if(|began| began.0 == sequence)
                    .map(|(_, began)| now_ns - began);
            }
            _ => {}
        }
    }

    fn problem(&self, problem: &Problem) {
        self.tell(What::Problem(problem.clone()));
    }
}

/// The place of a puzzle in its lane, from 0, and what is said of it.
fn heard(what: What) -> Option<(usize, Said)> {
    match what {
        What::Message(message, search) => {
            let solved: Solved = serde_json::from_str(message.json()).ok()?;
            let place = place(&solved)?;
            let hop = message.lineage().hops.last()?;
            let call = hop.emitted_ns - hop.taken_ns;
            let said = Said::Answer {
                verdict: solved.answer,
                effort: solved.effort,
                search_us: search.unwrap_or(call) as f64 / 1e3,
                call_us: call as f64 / 1e3,
            };
            Some((place, said))
        }
        What::Problem(problem) => {
            // Sightings are numbered from 1 in the order of the puzzles.
            let place = problem.message.as_ref()?.sequence.checked_sub(1)?;
            let said = match problem.kind {
                ProblemKind::TimedOut | ProblemKind::Hang => Said::TimedOut(problem.text),
                // A warning: an answer may still come.
                ProblemKind::Slow => return None,
                _ => Said::Failed(problem.text),
            };
            Some((usize::try_from(place).ok()?, said))
        }
    }
}

/// `capture-puzzles` names each sighting by the line of the text that it was given.
fn place(solved: &Solved) -> Option<usize> {
    let source = &solved.sighting.frame.source;
    let line: usize = source.rsplit(':').next()?.parse().ok()?;
    line.checked_sub(1)
}
