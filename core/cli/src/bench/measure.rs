//! Measures one solver on the boards of one class.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::Verdict;

use crate::batch::solving::{self, SolvingEvent};
use crate::batch::worker_pool::WorkerPool;
use crate::bench::sample::{Sample, SampleOutcome};
use crate::exit::Failure;
use crate::one_off::OneOffError;
use crate::solver_run::{
    self, PuzzleContent, PuzzleList, Reply, RunReply, SolverOptions, SolverReply,
};

/// After this many boards in a row without an answer, the rest of a class is skipped.
const MAX_UNANSWERED: usize = 3;

/// One sample for each board, in their order; fewer if the rest was skipped. The first board is solved twice and
/// counted once, so that no time is that of a cold start.
///
/// # Errors
/// When the solver can't run.
pub fn measure(
    boards: &[Puzzle],
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<Sample>, OneOffError> {
    let puzzles = boards.first().into_iter().chain(boards).cloned();
    let mut samples = ClassSamples::new(puzzles.clone().count());
    let puzzles = PuzzleList::new(puzzles.map(PuzzleContent::Read));
    solver_run::run(&puzzles, options, catalogue, |reply| match reply {
        // The board that is solved twice counts once.
        RunReply::Reply(at, Reply::Solver(reply)) => samples.add(at, reply, at > 0),
        _ => ControlFlow::Continue(()),
    })?;
    Ok(samples.all.into_iter().skip(1).flatten().collect())
}

/// The same on other machines, with their names. Each solves its first board of a chunk twice.
///
/// # Errors
/// When the solver can't run.
pub fn measure_on(
    pool: &mut WorkerPool,
    boards: &[Puzzle],
    options: &SolverOptions<'_>,
    catalogue: &Catalogue,
    notice: impl Fn(&str),
) -> Result<(Vec<Sample>, Vec<String>), OneOffError> {
    let mut samples = ClassSamples::new(boards.len());
    let mut machines = BTreeSet::new();
    solving::run_with(pool, &boards, options, true, catalogue, |event| {
        match event {
            SolvingEvent::Outcome(at, outcome) => {
                if let Some(reply) = outcome.solver {
                    machines.insert(outcome.machine.to_string());
                    return samples.add(at, reply, true);
                }
            }
            SolvingEvent::Notice(text) => notice(&text),
            SolvingEvent::Idle => {}
        }
        ControlFlow::Continue(())
    })?;
    let samples = samples.all.into_iter().flatten().collect();
    Ok((samples, machines.into_iter().collect()))
}

/// The samples of a class.
struct ClassSamples {
    all: Vec<Option<Sample>>,
    /// Boards in a row without an answer.
    unanswered: usize,
}

impl ClassSamples {
    fn new(boards: usize) -> Self {
        Self {
            all: vec![None; boards],
            unanswered: 0,
        }
    }

    /// Adds a reply. Breaks if the rest is skipped.
    fn add(
        &mut self,
        at: usize,
        reply: SolverReply,
        counts: bool,
    ) -> ControlFlow<Result<(), Failure>> {
        let sample = sample(reply);
        // A second reply to the same board (a late problem) is ignored.
        if let Some(place @ None) = self.all.get_mut(at) {
            *place = Some(sample);
            let gave_up = matches!(
                sample.outcome,
                SampleOutcome::GaveUp | SampleOutcome::Failed
            );
            self.unanswered = match gave_up {
                true => self.unanswered + usize::from(counts),
                false => 0,
            };
        }
        match self.unanswered >= MAX_UNANSWERED {
            true => ControlFlow::Break(Ok(())),
            false => ControlFlow::Continue(()),
        }
    }
}

fn sample(reply: SolverReply) -> Sample {
    let without = |outcome| Sample {
        outcome,
        search_us: None,
        call_us: None,
        nodes: None,
    };
    match reply {
        SolverReply::Answer {
            solved,
            search_us,
            call_us,
        } => Sample {
            outcome: match solved.answer {
                Verdict::Solution { .. } => SampleOutcome::Solved,
                Verdict::Unsolvable { .. } => SampleOutcome::Unsolvable,
                Verdict::Unsupported { .. } => SampleOutcome::Unsupported,
                Verdict::Unknown { .. } => SampleOutcome::GaveUp,
            },
            search_us: Some(search_us),
            call_us: Some(call_us),
            nodes: solved.effort.nodes,
        },
        SolverReply::TimedOut(_) => without(SampleOutcome::GaveUp),
        SolverReply::Failed(_) => without(SampleOutcome::Failed),
    }
}
