//! Puzzles of our own, with the one solution that each has.

use flowpipe_generate::Generator;
use flowpipe_puzzle::{Board, Puzzle, Solution};

pub use flowpipe_generate::GenerateError;

/// A puzzle on a board with exactly `flows` flows, and its only solution in canonical order. The same
/// board, flows and seed give the same puzzle.
///
/// # Errors
/// See [`GenerateError`]. Very few or very many flows may not be found.
pub fn generate(
    board: &Board,
    flows: usize,
    seed: u64,
) -> Result<(Puzzle, Solution), GenerateError> {
    let generated = Generator::new().on_board(board, flows..=flows, seed)?;
    Ok((generated.puzzle, generated.solution))
}
