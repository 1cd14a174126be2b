//! Solved boards: real ones, where they are at hand, and made ones.

use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Lattice, Puzzle, Solution, level};
use flowpipe_testing::shared_puzzles;

/// A board with its solution.
pub struct Solved {
    /// Columns and rows of plain squares and of the largest boards, what others have besides: `9x9`,
    /// `15x18`, `rectangles`, `hexes`.
    pub class: String,
    /// What is to be played.
    pub puzzle: Puzzle,
    /// Its only solution.
    pub solution: Solution,
}

/// The real levels, if they are at hand.
///
/// # Panics
/// When a line of their file is no level.
pub fn real() -> Option<Vec<Solved>> {
    let text = shared_puzzles("flowfree-levels.txt")?;
    let solved = |line: &str| {
        let level = level::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        Solved {
            class: class(level.puzzle.board().description()),
            puzzle: level.puzzle,
            solution: level.solution,
        }
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    Some(lines.map(solved).collect())
}

/// A board of some kinds: the same for the same seed.
pub fn made(cols: usize, rows: usize, kinds: &[Kind], seed: u64) -> Option<Solved> {
    let recipe = Recipe::new(Size::new(cols, rows).ok()?, kinds, None).ok()?;
    let made = Generator::new().generate(&recipe, seed).ok()?;
    Some(Solved {
        class: class(made.puzzle.board().description()),
        puzzle: made.puzzle,
        solution: made.solution,
    })
}

fn class(board: &Description) -> String {
    let (cols, rows) = (board.cols, board.rows);
    let plain = cols == rows || (cols, rows) == (15, 18);
    let kinds = [
        ("hexes", board.lattice == Lattice::Hex),
        ("warps", board.warps),
        ("bridges", !board.bridges.is_empty()),
        ("walls", !board.walls.is_empty()),
        ("holes", !board.holes.is_empty()),
        ("rectangles", !plain),
    ];
    let found = kinds.iter().find(|(_, found)| *found);
    found.map_or_else(|| format!("{cols}x{rows}"), |(kind, _)| (*kind).to_owned())
}
