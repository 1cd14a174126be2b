//! Solved boards: real ones, where they are at hand, and made ones.

use std::path::PathBuf;

use flowpipe_generate::{Generator, Kind, Recipe, Size};
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Lattice, Puzzle, Solution, level};

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

/// The real levels, from `$FLOWPIPE_SHARED/puzzles` or from the folder `shared` beside the project.
pub fn real() -> Option<Vec<Solved>> {
    let folder = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("puzzles/flowfree-levels.txt")).ok()?;
    let levels = text.lines().map(|line| level::parse(line).ok());
    let levels: Option<Vec<level::Level>> = levels.collect();
    let solved = |level: level::Level| Solved {
        class: class(level.puzzle.board().description()),
        puzzle: level.puzzle,
        solution: level.solution,
    };
    Some(levels?.into_iter().map(solved).collect())
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
