//! Strokes of planners: they draw the solution that was asked, and stay inside the cells of their flow.

use flowpipe_plugin::Message;
use flowpipe_plugin::puzzle::check;
use flowpipe_plugin::puzzle::message::{SOLVED, Solved, Strokes};
use flowpipe_plugin::puzzle::stroke_check::check_strokes;

use crate::{Judged, asked, list, sighting};

pub fn judge(parent: Option<&Message<'_>>, message: &Message<'_>) -> Judged {
    let strokes: Strokes = message.parse()?;
    if let Some(asked) = asked(parent, SOLVED).and_then(|parent| parent.parse::<Solved>().ok()) {
        if asked.sighting != strokes.sighting {
            return Err("strokes for another sighting than was asked for".to_owned());
        }
        if asked.solution() != Some(&strokes.solution) {
            return Err("strokes for another solution than was asked for".to_owned());
        }
    }
    let note = message.captured_note();
    strokes.sighting.frame.check_descent(note.as_ref())?;
    sighting::check(&strokes.sighting)?;
    let board = strokes
        .sighting
        .board()
        .ok_or("strokes where there is no board")?;
    let puzzle = &board.puzzle;
    check(puzzle, &strokes.solution)
        .map_err(|breaches| format!("strokes for a wrong solution: {}", list(&breaches)))?;
    check_strokes(puzzle, &strokes.solution, &strokes.strokes)
        .map_err(|breaches| format!("strokes that may not be played: {}", list(&breaches)))?;
    Ok(None)
}
