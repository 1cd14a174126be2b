//! Measures one solver on the boards of one class.

use std::ops::ControlFlow;

use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::Verdict;

use crate::bench::sample::{Sample, SampleOutcome};
use crate::one_off::OneOffError;
use crate::solver_run::{self, Reply, SolverOptions, SolverReply};

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
    let puzzles: Vec<&Puzzle> = boards.first().into_iter().chain(boards).collect();
    let mut samples: Vec<Option<Sample>> = vec![None; puzzles.len()];
    let mut unanswered = 0;
    solver_run::run(&puzzles, options, catalogue, |reply| {
        let Some((at, Reply::Solver(reply))) = reply else {
            return ControlFlow::Continue(());
        };
        let sample = sample(reply);
        // A second reply to the same board (a late problem) is ignored.
        if samples[at].is_none() {
            samples[at] = Some(sample);
            let gave_up = matches!(
                sample.outcome,
                SampleOutcome::GaveUp | SampleOutcome::Failed
            );
            // The board that is solved twice counts once.
            unanswered = if gave_up {
                unanswered + usize::from(at > 0)
            } else {
                0
            };
        }
        if unanswered >= MAX_UNANSWERED {
            ControlFlow::Break(Ok(()))
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(samples.into_iter().skip(1).flatten().collect())
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
