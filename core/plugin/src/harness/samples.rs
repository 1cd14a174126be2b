//! Sample messages for tests of stages, and a check of strokes.

use flowpipe_puzzle::message::{
    FrameNote, Reading, SOLVED, SeenBoard, Sighting, Solved, Strokes, Verdict,
};
use flowpipe_puzzle::stroke_check::check_strokes;
use flowpipe_puzzle::{Puzzle, Solution};

use super::Harness;
use crate::error::{Error, Result};

/// Pixels of a cell's side.
const CELL: f64 = 100.0;

/// A puzzle as text, such as `"A.B\nA.B"`: letters are terminals, `.` is an empty cell.
///
/// # Errors
/// When the text is not one puzzle that can be read.
pub fn puzzle(text: &str) -> Result<Puzzle> {
    let mut entries = flowpipe_puzzle::text::read(text);
    match (entries.pop(), entries.pop()) {
        (Some(only), None) => Ok(only.puzzle?.0),
        _ => Err(Error::new("expected one puzzle")),
    }
}

/// The sighting of an untouched puzzle in the corner of a picture, 100 pixels a cell: a solver's input.
#[must_use]
pub fn sighting(puzzle: Puzzle) -> Sighting {
    let board = SeenBoard::untouched(puzzle, CELL);
    Sighting::new(FrameNote::of("test"), Reading::Board(Box::new(board)))
}

/// A solver's answer to such a sighting.
#[must_use]
pub fn solved(puzzle: Puzzle, solution: Solution) -> Solved {
    Solved::new("test", Verdict::solution(solution, None), sighting(puzzle))
}

/// Sends an answer to a planner, and checks the strokes against the board as the host does.
///
/// # Errors
/// The planner's error, no plan, and the first stroke that the host would refuse.
pub fn strokes(planner: &mut Harness, solved: &Solved) -> Result<Strokes> {
    let emitted = planner.send(0, SOLVED, solved)?;
    let (Some(emitted), Some(board), Some(solution)) =
        (emitted.first(), solved.sighting.board(), solved.solution())
    else {
        return Err(Error::new("there is no plan"));
    };
    let strokes: Strokes = serde_json::from_value(emitted.body.clone())
        .map_err(|error| Error::bad_message(error.to_string()))?;
    check_strokes(&board.puzzle, solution, &strokes.strokes)
        .map_err(|refusals| Error::new(refusals[0].to_string()))?;
    Ok(strokes)
}
