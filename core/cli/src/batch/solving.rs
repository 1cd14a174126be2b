//! Puzzles as they are sent, and their answers. What a worker answers is validated as an answer of a plugin is.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_machines::batch::{Decoded, Encoded, Job, MAX_BODY, MAX_ITEMS};
use flowpipe_puzzle::answer_check::check_answer;
use flowpipe_puzzle::message::{Effort, Solved, Stroke, Verdict};
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Puzzle, text};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::args::Global;
use crate::batch::puzzle_store::PuzzleStore;
use crate::batch::sent_effort;
use crate::batch::task::{SolverTask, Task};
use crate::batch::worker_pool::{PoolEvent, WorkerPool};
use crate::exit::Failure;
use crate::installed_facts::{facts, plugins_of};
use crate::line_budget::shortened;
use crate::one_off::OneOffError;
use crate::solver_run::{
    self, Reply, SolverOptions, SolverReply, StrokePlan, plan_bytes, reply_bytes,
};

/// Puzzles are sent in texts of about this size.
const TEXT_BYTES: usize = 1 << 20;
/// How long a plugin that has exceeded its timeout is awaited before it is abandoned, at most.
const HANG_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest time that a machine can have taken, in microseconds: a year.
const LONGEST_US: f64 = 365.0 * 86_400e6;

/// What becomes of one puzzle.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The reply of the solver. `None`: it gave none.
    pub solver: Option<SolverReply>,
    /// The reply of the planner.
    pub plan: Option<Result<StrokePlan, String>>,
    /// The machine that did it.
    pub machine: Arc<str>,
}

/// The same, as it is sent.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SentOutcome {
    solver: Option<SentReply>,
    plan: Option<Result<SentPlan, String>>,
}

#[derive(Debug, Serialize, Deserialize)]
enum SentReply {
    Answer {
        answer: Verdict,
        #[serde(deserialize_with = "sent_effort::deserialize")]
        effort: Effort,
        search_us: f64,
        call_us: f64,
    },
    TimedOut(String),
    Failed(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct SentPlan {
    strokes: Vec<Stroke>,
    plan_us: f64,
}

/// What happens while puzzles are solved.
pub enum SolvingEvent {
    /// The next puzzle.
    Outcome(usize, Box<Outcome>),
    /// Something to print.
    Notice(String),
    /// There are no answers at the moment.
    Idle,
}

/// Runs puzzles through a solver on the workers of a file. Passes each outcome, with the index of its puzzle, to `each`,
/// in the order of the puzzles, until `each` breaks.
///
/// # Errors
/// See [`OneOffError`].
pub fn run(
    file: &Path,
    global: &Global,
    puzzles: &dyn PuzzleStore,
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
    each: impl FnMut(SolvingEvent) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    // What is wrong with the options is reported before any worker is asked.
    solver_run::prepare(options, catalogue)?;
    let mut pool = WorkerPool::open(file, global)?;
    run_with(&mut pool, puzzles, options, false, catalogue, each)
}

/// The same with workers that are there already. `is_measured`: see [`SolverTask`].
///
/// # Errors
/// See [`OneOffError`].
pub fn run_with(
    pool: &mut WorkerPool,
    puzzles: &dyn PuzzleStore,
    options: &SolverOptions<'_>,
    is_measured: bool,
    catalogue: &Catalogue,
    mut each: impl FnMut(SolvingEvent) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    let pipeline = solver_run::prepare(options, catalogue)?;
    let task = Task::Solve(SolverTask::of(options, is_measured));
    let task = serde_json::to_value(task).map_err(|error| Failure::Run(error.to_string()))?;
    let encode = |items: Range<u64>| encode(puzzles, items);
    let decode = |machine: &str, items: Range<u64>, body: &[u8], _: &dyn Fn() -> bool| {
        decode(puzzles, machine, items, body, options.planner.is_some())
    };
    let job = Job {
        facts: &facts(catalogue, plugins_of(&pipeline))?,
        task: &task,
        supply: &|| puzzles.supply(),
        encode: &encode,
        decode: &decode,
        longest_item: longest(&pipeline),
    };
    let broken = pool.run(&job, |event| match event {
        PoolEvent::Results(first, results) => {
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            let mut outcomes = results.into_iter().zip(first..);
            outcomes.try_for_each(|(outcome, index)| {
                each(SolvingEvent::Outcome(index, Box::new(outcome)))
            })
        }
        PoolEvent::Notice(text) => each(SolvingEvent::Notice(text)),
        PoolEvent::Idle => each(SolvingEvent::Idle),
    })?;
    match broken {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(result) => Ok(result?),
    }
}

/// How long a puzzle takes at most, if each of its plugins has a timeout.
fn longest(pipeline: &Pipeline) -> Option<Duration> {
    // The first stage gives the puzzles.
    let mut plugins = pipeline.stages.iter().skip(1);
    plugins.try_fold(Duration::ZERO, |sum, it| {
        let longest = it.timeout?.saturating_add(HANG_TIMEOUT);
        Some(sum.saturating_add(longest))
    })
}

fn range(items: &Range<u64>) -> Range<usize> {
    let index = |item: u64| usize::try_from(item).unwrap_or(usize::MAX);
    index(items.start)..index(items.end)
}

fn encode(puzzles: &dyn PuzzleStore, items: Range<u64>) -> Encoded<Outcome> {
    let mut body = String::new();
    let mut count = 0;
    let puzzles = puzzles.puzzles(range(&items));
    if puzzles.is_empty() {
        return Encoded::Delivered;
    }
    for puzzle in &puzzles {
        let line = text::write_line(puzzle);
        if count == 0 && line.len() > MAX_BODY {
            let reason = "the puzzle is too long to send".to_owned();
            return Encoded::Result(Outcome::failed(reason));
        }
        if count > 0 && body.len() + line.len() > TEXT_BYTES {
            break;
        }
        if count > 0 {
            body.push('\n');
        }
        body.push_str(&line);
        count += 1;
    }
    Encoded::Items(body.into_bytes(), count)
}

/// Reads and validates what a worker has sent. `None`: another one was earlier, and the puzzles are gone.
fn decode(
    puzzles: &dyn PuzzleStore,
    machine: &str,
    items: Range<u64>,
    body: &[u8],
    is_planned: bool,
) -> Result<Option<Decoded<Outcome>>, String> {
    let puzzles = puzzles.puzzles(range(&items));
    if puzzles.is_empty() {
        return Ok(None);
    }
    let machine: Arc<str> = machine.into();
    let mut outcomes = Vec::new();
    for line in body.split(|byte| *byte == b'\n') {
        let Some(puzzle) = puzzles.get(outcomes.len()) else {
            return Err(format!(
                "more than {} answers to as many puzzles",
                puzzles.len()
            ));
        };
        let sent = serde_json::from_slice(line);
        let sent: SentOutcome = sent.map_err(|error| format!("a malformed answer: {error}"))?;
        outcomes.push(accept(puzzle, sent, is_planned, &machine)?);
    }
    Ok(Some(Decoded {
        heap_bytes: outcomes.iter().map(heap_bytes).sum(),
        results: outcomes,
    }))
}

/// The bytes that an outcome takes besides its own size.
fn heap_bytes(outcome: &Outcome) -> usize {
    let solver = outcome.solver.as_ref().map_or(0, reply_bytes);
    solver + outcome.plan.as_ref().map_or(0, plan_bytes)
}

/// Validates the outcome of a puzzle.
fn accept(
    puzzle: &Puzzle,
    sent: SentOutcome,
    is_planned: bool,
    machine: &Arc<str>,
) -> Result<Outcome, String> {
    let plan = match (sent.plan, &sent.solver) {
        (None, _) => None,
        (Some(_), _) if !is_planned => return Err("a plan that was not asked for".to_owned()),
        (Some(Err(reason)), _) => Some(Err(shortened(&reason))),
        (Some(Ok(plan)), Some(SentReply::Answer { answer, .. })) => {
            let Verdict::Solution { solution, .. } = answer else {
                return Err("strokes without a solution".to_owned());
            };
            check_time(plan.plan_us)?;
            check_strokes(puzzle, solution, &plan.strokes).map_err(|breaches| {
                let first = breaches.first().map(ToString::to_string);
                let first = first.unwrap_or_default();
                format!("strokes that may not be played: {first}")
            })?;
            let (strokes, plan_us) = (plan.strokes, plan.plan_us);
            Some(Ok(StrokePlan { strokes, plan_us }))
        }
        (Some(Ok(_)), _) => return Err("strokes without a solution".to_owned()),
    };
    let solver = match sent.solver {
        None => None,
        Some(SentReply::TimedOut(reason)) => Some(SolverReply::TimedOut(shortened(&reason))),
        Some(SentReply::Failed(reason)) => Some(SolverReply::Failed(shortened(&reason))),
        Some(SentReply::Answer {
            mut answer,
            effort,
            search_us,
            call_us,
        }) => {
            check_answer(puzzle, &answer).map_err(|error| error.to_string())?;
            check_time(search_us)?;
            check_time(call_us)?;
            shorten_reason(&mut answer);
            // The name of the solver is that of the command.
            let solved = Solved::new("", answer, IgnoredAny).with_effort(effort);
            Some(SolverReply::Answer {
                solved: Arc::new(solved),
                search_us,
                call_us,
            })
        }
    };
    Ok(Outcome {
        solver,
        plan,
        machine: machine.clone(),
    })
}

/// Each reason is printed.
fn shorten_reason(answer: &mut Verdict) {
    match answer {
        Verdict::Solution { .. } | Verdict::Unsolvable { reason: None, .. } => {}
        Verdict::Unsolvable {
            reason: Some(reason),
            ..
        }
        | Verdict::Unsupported { reason, .. }
        | Verdict::Unknown { reason, .. } => *reason = shortened(reason),
    }
}

fn check_time(us: f64) -> Result<(), String> {
    match (0.0..=LONGEST_US).contains(&us) {
        true => Ok(()),
        false => Err(format!("a time of {us} µs")),
    }
}

/// The texts of a chunk's first puzzles: as many as a coordinator sends, so that a chunk of empty lines, or of many small
/// puzzles, takes no more memory than one of it. The rest is given to a worker again.
///
/// # Errors
/// When they are no text.
pub fn lines(items: &[u8]) -> Result<Vec<&str>, String> {
    let text = std::str::from_utf8(items).map_err(|_| "the puzzles are no text".to_owned())?;
    let mut left = TEXT_BYTES;
    let mut lines = Vec::new();
    for line in text.split('\n').take(MAX_ITEMS) {
        // One puzzle may be longer.
        let rest = left.checked_sub(line.len());
        if rest.is_none() && !lines.is_empty() {
            break;
        }
        left = rest.unwrap_or(0);
        lines.push(line);
    }
    Ok(lines)
}

/// The outcomes of the first puzzles as they are sent: of at least one, and of as many as there is room for.
pub fn write(outcomes: Vec<Outcome>) -> Vec<u8> {
    let mut body = Vec::new();
    for outcome in outcomes {
        let mut line = match has_more_than_may_be_sent(&outcome) {
            true => unsent("the effort of the answer has too many figures to send"),
            false => line(outcome),
        };
        if line.len() > MAX_BODY {
            line = unsent("the answer is too long to send");
        }
        if body.is_empty() {
            body = line;
        } else if body.len() + 1 + line.len() > MAX_BODY {
            break;
        } else {
            body.push(b'\n');
            body.extend_from_slice(&line);
        }
    }
    body
}

fn has_more_than_may_be_sent(outcome: &Outcome) -> bool {
    match &outcome.solver {
        Some(SolverReply::Answer { solved, .. }) => !sent_effort::may_be_sent(&solved.effort),
        _ => false,
    }
}

/// What is sent in place of an outcome that can't be.
fn unsent(why: &str) -> Vec<u8> {
    json(&SentOutcome {
        solver: Some(SentReply::Failed(why.to_owned())),
        plan: None,
    })
}

fn line(outcome: Outcome) -> Vec<u8> {
    let solver = outcome.solver.map(|reply| match reply {
        SolverReply::Answer {
            solved,
            search_us,
            call_us,
        } => SentReply::Answer {
            answer: solved.answer.clone(),
            effort: solved.effort.clone(),
            search_us,
            call_us,
        },
        SolverReply::TimedOut(reason) => SentReply::TimedOut(reason),
        SolverReply::Failed(reason) => SentReply::Failed(reason),
    });
    let plan = outcome
        .plan
        .map(|plan| plan.map(|StrokePlan { strokes, plan_us }| SentPlan { strokes, plan_us }));
    json(&SentOutcome { solver, plan })
}

fn json(outcome: &SentOutcome) -> Vec<u8> {
    // It has no maps with other keys than text, so that it is always JSON.
    serde_json::to_vec(outcome).unwrap_or_default()
}

impl Outcome {
    /// That of a puzzle that could not be solved.
    pub fn failed(reason: String) -> Self {
        Self {
            solver: Some(SolverReply::Failed(reason)),
            ..Self::default()
        }
    }

    /// Whether there is nothing more to come. `is_planned`: solutions are planned.
    pub fn is_whole(&self, is_planned: bool) -> bool {
        let is_solved = matches!(&self.solver, Some(SolverReply::Answer { solved, .. })
            if matches!(solved.answer, Verdict::Solution { .. }));
        self.solver.is_some() && (self.plan.is_some() || !is_planned || !is_solved)
    }

    /// Adds a reply. The first one of each plugin counts.
    pub fn add(&mut self, reply: Reply) {
        match reply {
            Reply::Solver(reply) => {
                self.solver.get_or_insert(reply);
            }
            Reply::Planner(plan) => {
                self.plan.get_or_insert(plan);
            }
        }
    }

    /// The replies, in their order.
    pub fn replies(self) -> impl Iterator<Item = Reply> {
        let solver = self.solver.map(Reply::Solver);
        solver.into_iter().chain(self.plan.map(Reply::Planner))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_of_workers_are_shortened() {
        let read = text::read("AB\nAB\n").pop().unwrap();
        let (puzzle, _) = read.puzzle.unwrap();
        let puzzles: &[Puzzle] = &[puzzle];
        let long = "x".repeat(100_000);
        for line in [
            format!(r#"{{"solver":{{"Failed":"{long}"}},"plan":null}}"#),
            format!(r#"{{"solver":{{"TimedOut":"{long}"}},"plan":null}}"#),
            format!(r#"{{"solver":null,"plan":{{"Err":"{long}"}}}}"#),
        ] {
            let decoded = decode(&puzzles, "rack", 0..1, line.as_bytes(), true);
            let decoded = decoded.unwrap().unwrap();
            assert!(decoded.heap_bytes < 10_000, "{}", decoded.heap_bytes);
        }
        let mut answer: Verdict =
            serde_json::from_value(json!({ "verdict": "unknown", "reason": long })).unwrap();
        shorten_reason(&mut answer);
        let length = serde_json::to_string(&answer).unwrap().len();
        assert!(length < 10_000, "{length}");
    }

    #[test]
    fn of_a_chunk_no_more_is_read_than_a_coordinator_sends() {
        let read = |items: &[u8]| lines(items).map(|lines| lines.len());
        assert_eq!(read(b"A.A\nB.B"), Ok(2));
        assert_eq!(read(b""), Ok(1));
        assert_eq!(read(&vec![b'\n'; MAX_BODY]), Ok(MAX_ITEMS));
        let line = |length: usize| vec![b'.'; length];
        assert_eq!(read(&line(MAX_BODY)), Ok(1));
        let [long, half] = [line(TEXT_BYTES + 1), line(TEXT_BYTES / 2)];
        assert_eq!(read(&[&*long, &*half].join(&b'\n')), Ok(1));
        assert_eq!(read(&[&*half, &*half, b".", b""].join(&b'\n')), Ok(2));
        assert!(read(&[0xff]).is_err());
    }
}
