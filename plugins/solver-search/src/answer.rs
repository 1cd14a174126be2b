//! What the search found under its own rules, as a verdict.

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Count, Effort, Verdict};
use flowpipe_plugin::solver::Want;
use flowpipe_search::{Ended, Found};

/// The verdict on a puzzle under the strict rules. The search must have ended with all solutions, or with as many as
/// were asked for.
pub fn verdict(puzzle: &Puzzle, found: Found, want: Want) -> Verdict {
    let complete = found.ended == Ended::Complete;
    let mut solutions = found.solutions.into_iter();
    let Some(solution) = solutions.next() else {
        return Verdict::unsolvable(flowpipe_sat::reason(puzzle));
    };
    let unique = match (complete, found.count) {
        (true, count) => Some(count == 1),
        (false, 0 | 1) => None,
        (false, _) => Some(false),
    };
    let count = match want {
        Want::One | Want::Unique => None,
        Want::Count | Want::All if complete => Some(Count::exactly(found.count)),
        Want::Count | Want::All => Some(Count::at_least(found.count)),
    };
    Verdict::solution(solution, unique)
        .with_count(count)
        .with_others(solutions.collect())
}

/// What the search cost.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub fn effort(found: &Found) -> Effort {
    Effort::nodes(found.nodes).with("steps", found.steps as f64)
}
