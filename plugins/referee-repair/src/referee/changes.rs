//! What a sighting of a board shows otherwise than the one before.

use flowpipe_plugin::puzzle::message::{BoardState, Sighting};
use flowpipe_plugin::puzzle::{Flow, Puzzle};

/// Whether the window is being dragged: it is seen elsewhere than before.
pub fn has_moved(before: Option<&Sighting>, sighting: &Sighting) -> bool {
    let (window, origin) = (sighting.frame.window, sighting.frame.origin);
    before.is_some_and(|before| {
        window.is_some() && before.frame.window == window && before.frame.origin != origin
    })
}

/// Whether more or less is drawn, or the board is in another state, than before.
pub fn has_changed(before: Option<&Sighting>, sighting: &Sighting) -> bool {
    before.and_then(shown) != shown(sighting)
}

fn shown(sighting: &Sighting) -> Option<(&Puzzle, &[Flow], BoardState)> {
    let board = sighting.board()?;
    Some((&board.puzzle, &board.drawn, board.state))
}
