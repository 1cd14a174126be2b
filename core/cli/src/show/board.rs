//! A board with its flows on the terminal.

use flowpipe_puzzle::draw::{Style, draw};
use flowpipe_puzzle::message::SeenBoard;
use flowpipe_puzzle::{Flow, Puzzle, colour};

/// A board as vision saw it, in the colours that it has on the screen.
pub fn seen(board: &SeenBoard, flows: &[Flow], colours: bool) -> String {
    draw(
        &board.puzzle,
        flows,
        Style {
            ansi: colours,
            dots: colours,
            palette: &board.palette,
            ..Style::default()
        },
    )
}

/// A puzzle that came as text, with the letters of the text.
pub fn puzzle(puzzle: &Puzzle, flows: &[Flow], names: &[String], colours: bool) -> String {
    let count = puzzle
        .colours()
        .last()
        .map_or(0, |&last| usize::from(last) + 1);
    let palette = colour::palette(count);
    draw(
        puzzle,
        flows,
        Style {
            ansi: colours,
            palette: &palette,
            names,
            ..Style::default()
        },
    )
}
