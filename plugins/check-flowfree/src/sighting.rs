//! Sightings: the parts of what was seen fit together.

use flowpipe_plugin::Message;
use flowpipe_plugin::puzzle::message::{Reading, SeenBoard, Sighting};

use crate::Judged;
use crate::accepted::AcceptedPuzzles;

pub fn judge(message: &Message<'_>, accepted: &AcceptedPuzzles) -> Judged {
    let sighting: Sighting = message.parse()?;
    check(&sighting)?;
    if let Reading::Board(seen) = sighting.reading {
        accepted.keep(message.json(), seen.puzzle);
    }
    Ok(None)
}

/// Checks a sighting, also one that another message contains.
pub fn check(sighting: &Sighting) -> Result<(), String> {
    sighting.frame.check()?;
    let confidence = match &sighting.reading {
        Reading::Board(seen) => {
            check_board(seen)?;
            seen.confidence
        }
        Reading::Refused { confidence, .. } => *confidence,
    };
    if !(0.0..=1.0).contains(&confidence) {
        return Err(format!("a confidence of {confidence}, it must be 0 to 1"));
    }
    Ok(())
}

/// Checks the parts of a board against each other.
fn check_board(seen: &SeenBoard) -> Result<(), String> {
    let board = seen.puzzle.board();
    let geometry = &seen.geometry;
    if (geometry.rows, geometry.cols) != (board.rows(), board.cols()) {
        return Err(format!(
            "a board of {} x {} whose place is given for {} x {} (rows x columns)",
            board.rows(),
            board.cols(),
            geometry.rows,
            geometry.cols
        ));
    }
    let centre = [board.cols() as f64 / 2.0, board.rows() as f64 / 2.0];
    let in_frame = geometry.to_frame(centre);
    let back = geometry.to_board(in_frame);
    if !back.is_some_and(|back| (0..2).all(|axis| (back[axis] - centre[axis]).abs() < 1e-3)) {
        return Err("a board whose corners in the frame span no area".to_owned());
    }
    Ok(())
}
