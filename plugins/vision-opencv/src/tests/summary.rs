//! A reading in a form that people can check.

use std::collections::BTreeMap;
use std::fmt::Write;

use flowpipe_plugin::puzzle::colour::{self, Colour};
use flowpipe_plugin::puzzle::message::SeenBoard;
use flowpipe_plugin::puzzle::{Cell, Flow, Puzzle};

/// The grid, by rows, with letters in order of first appearance; `.` is an empty cell, `#` none.
pub fn grid(board: &SeenBoard) -> Vec<String> {
    let (rows, cols) = (board.puzzle.board().rows(), board.puzzle.board().cols());
    let letter = |cell| {
        if !board.puzzle.board().exists(cell) {
            return "#".to_owned();
        }
        board
            .puzzle
            .terminal_at(cell)
            .map_or(".".to_owned(), colour::name)
    };
    (0..rows)
        .map(|row| (0..cols).map(|col| letter(row * cols + col)).collect())
        .collect()
}

/// The same grid with its letters exchanged for those that [`grid`] uses.
pub fn canonical(grid: &[impl AsRef<str>]) -> Vec<String> {
    let mut seen: Vec<char> = Vec::new();
    let mut exchange = |letter: char| {
        if matches!(letter, '.' | '#') {
            return letter.to_string();
        }
        let number = seen
            .iter()
            .position(|&old| old == letter)
            .unwrap_or_else(|| {
                seen.push(letter);
                seen.len() - 1
            });
        colour::name(number as u16)
    };
    grid.iter()
        .map(|row| row.as_ref().chars().map(&mut exchange).collect())
        .collect()
}

/// The cells of each colour's terminals, whatever the colours are numbered.
pub fn pairs(puzzle: &Puzzle) -> Vec<Vec<Cell>> {
    let mut pairs: BTreeMap<Colour, Vec<Cell>> = BTreeMap::new();
    for terminal in puzzle.terminals() {
        let cells = pairs.entry(terminal.colour).or_default();
        cells.push(terminal.cell);
    }
    let mut pairs: Vec<_> = pairs.into_values().collect();
    pairs.sort();
    pairs
}

/// The cells of flows, whichever end is the first. The terminal at one end gives the colour.
pub fn ways(flows: &[Flow]) -> Vec<Vec<Cell>> {
    let way = |flow: &Flow| {
        let back: Vec<Cell> = flow.cells.iter().rev().copied().collect();
        back.min(flow.cells.clone())
    };
    let mut ways: Vec<_> = flows.iter().map(way).collect();
    ways.sort();
    ways
}

/// Everything but the confidence.
pub fn of(board: &SeenBoard) -> String {
    let mut text = grid(board).join("\n");
    let corners = board
        .geometry
        .corners
        .map(|[x, y]| format!("({x:.1}, {y:.1})"));
    let _ = writeln!(text, "\ncorners {}", corners.join(" "));
    for (number, [red, green, blue]) in board.palette.iter().enumerate() {
        let name = colour::name(number as u16);
        let _ = writeln!(text, "{name} #{red:02x}{green:02x}{blue:02x}");
    }
    for flow in &board.drawn {
        let _ = writeln!(text, "drawn {} {:?}", colour::name(flow.colour), flow.cells);
    }
    let _ = writeln!(text, "{:?}", board.state);
    text
}
