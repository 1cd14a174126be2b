//! Messages to send to a stage in tests.

use flowpipe_puzzle::message::{
    BoardState, Effort, FrameNote, Reading, SeenBoard, Sighting, Solved, Verdict,
};
use flowpipe_puzzle::{Geometry, Puzzle, Solution, colour};

/// Pixels of a cell's side.
const CELL: f64 = 100.0;

/// A board that lies upright in the corner of a picture, 100 pixels a cell, with nothing drawn.
#[must_use]
pub fn seen(puzzle: Puzzle) -> SeenBoard {
    let (rows, cols) = (puzzle.board().rows(), puzzle.board().cols());
    let colours = puzzle
        .colours()
        .last()
        .map_or(0, |&last| usize::from(last) + 1);
    SeenBoard {
        geometry: Geometry::upright(0.0, 0.0, CELL * cols as f64, CELL * rows as f64, rows, cols),
        puzzle,
        palette: colour::palette(colours),
        drawn: Vec::new(),
        state: BoardState::Empty,
        confidence: 1.0,
    }
}

/// A solver's answer to such a board.
#[must_use]
pub fn solved(puzzle: Puzzle, solution: Solution) -> Solved {
    Solved {
        solver: "test".to_owned(),
        answer: Verdict::solution(solution, None),
        effort: Effort::default(),
        profile: None,
        sighting: Sighting {
            frame: FrameNote::of("test"),
            reading: Reading::Board(Box::new(seen(puzzle))),
        },
    }
}
