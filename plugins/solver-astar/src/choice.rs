//! Which arm of a partial board grows.

use crate::config::Choice;
use crate::heuristic::gap;
use crate::partial::Partial;
use crate::problem::Problem;

/// The arm to grow, if any is loose. `strict`: see [`Partial::moves`].
pub fn choose(
    choice: Choice,
    problem: &Problem<'_>,
    board: &Partial,
    strict: bool,
) -> Option<usize> {
    match choice {
        Choice::Closest => {
            let firsts =
                (0..problem.colours.len()).filter_map(|colour| board.loose(problem, colour).next());
            // The first of those that are equally close.
            firsts.min_by_key(|&arm| gap(problem, board, arm))
        }
        Choice::MostConstrained => {
            let loose = (0..problem.terminals.len()).filter(|&arm| board.is_loose(arm));
            loose.min_by_key(|&arm| {
                let ways = board.moves(problem, arm, strict).count();
                (ways, gap(problem, board, arm))
            })
        }
    }
}
