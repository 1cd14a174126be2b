//! Strict solutions of small puzzles by trying everything: what the search is compared with.

use flowpipe_puzzle::{Puzzle, Rules, Solution};
use flowpipe_sat::testing::brute_force;

/// All solutions that cover every node and in which no flow touches itself, canonical and sorted.
pub fn solutions(puzzle: &Puzzle) -> Vec<Solution> {
    let strict = puzzle.clone().with_rules(Rules::default());
    let mut solutions = brute_force::solutions(&strict, usize::MAX);
    solutions.sort_by_key(|solution| -> Vec<_> {
        let flows = solution.flows.iter();
        flows.map(|flow| flow.cells.clone()).collect()
    });
    solutions
}
