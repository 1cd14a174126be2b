//! A board with its flows on the terminal.

use flowpipe_puzzle::draw::{TextStyle, draw};
use flowpipe_puzzle::message::SeenBoard;
use flowpipe_puzzle::{Flow, Puzzle, colour};
use flowpipe_terminal::escape;

/// A board as vision read it, in the colours of the screen.
pub fn seen(board: &SeenBoard, flows: &[Flow], colours: bool) -> String {
    draw(
        &board.puzzle,
        flows,
        TextStyle {
            ansi: colours,
            dots: colours,
            palette: &board.palette,
            ..TextStyle::default()
        },
    )
}

/// The colour of each letter, for output without colours.
pub fn legend(seen: &SeenBoard) -> String {
    let names: Vec<String> = seen
        .puzzle
        .colours()
        .into_iter()
        .filter_map(|colour| {
            let rgb = seen.palette.get(usize::from(colour))?;
            Some(format!(
                "{} {}",
                colour::name(colour),
                colour::nearest_name(*rgb)
            ))
        })
        .collect();
    names.join(", ")
}

/// A puzzle that was given as text, with the letters of the text.
pub fn puzzle(puzzle: &Puzzle, flows: &[Flow], names: &[String], colours: bool) -> String {
    let count = puzzle
        .colours()
        .last()
        .map_or(0, |&last| usize::from(last) + 1);
    let palette = colour::palette(count);
    let names: Vec<String> = names.iter().map(|it| escape(it).into_owned()).collect();
    draw(
        puzzle,
        flows,
        TextStyle {
            ansi: colours,
            palette: &palette,
            names: &names,
            ..TextStyle::default()
        },
    )
}
