//! Boards of one class put to one solver.

use std::ops::ControlFlow;

use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::Puzzle;
use flowpipe_puzzle::message::Verdict;

use crate::ask::{Ask, AskError, Said, SolverSaid, ask};
use crate::bench::sample::{Outcome, Sample};

/// After so many boards in a row without an answer a solver is given up on a class.
pub const PATIENCE: usize = 3;

/// One sample a board in their order, fewer where the solver was given up. The first board is asked twice
/// and counted once, so that no time is that of a cold start.
///
/// # Errors
/// When the solver can't be asked.
pub fn measure(
    boards: &[Puzzle],
    how: &Ask<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<Sample>, AskError> {
    let asked: Vec<&Puzzle> = boards.first().into_iter().chain(boards).collect();
    let mut samples: Vec<Option<Sample>> = vec![None; asked.len()];
    let mut in_vain = 0;
    ask(&asked, how, catalogue, |at, said| {
        let Said::Solver(said) = said else {
            return ControlFlow::Continue(());
        };
        let sample = sample(said);
        // A second word on the same board (a late problem) changes nothing.
        if samples[at].is_none() {
            samples[at] = Some(sample);
            let gave_up = matches!(sample.outcome, Outcome::GaveUp | Outcome::Failed);
            // The board that is asked twice counts as one here too.
            in_vain = if gave_up {
                in_vain + usize::from(at > 0)
            } else {
                0
            };
        }
        if in_vain >= PATIENCE {
            ControlFlow::Break(Ok(()))
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(samples.into_iter().skip(1).flatten().collect())
}

fn sample(said: SolverSaid) -> Sample {
    let without = |outcome| Sample {
        outcome,
        search_us: None,
        call_us: None,
        nodes: None,
    };
    match said {
        SolverSaid::Answer {
            verdict,
            effort,
            search_us,
            call_us,
        } => Sample {
            outcome: match verdict {
                Verdict::Solution { .. } => Outcome::Solved,
                Verdict::Unsolvable { .. } => Outcome::Unsolvable,
                Verdict::Unsupported { .. } => Outcome::Unsupported,
                Verdict::Unknown { .. } => Outcome::GaveUp,
            },
            search_us: Some(search_us),
            call_us: Some(call_us),
            nodes: effort.nodes,
        },
        SolverSaid::TimedOut(_) => without(Outcome::GaveUp),
        SolverSaid::Failed(_) => without(Outcome::Failed),
    }
}
