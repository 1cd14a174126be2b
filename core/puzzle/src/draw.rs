//! Boards as text with pipes, for a terminal or a log.
//!
//! A square is as wide as the longest name and one character more: on most boards two characters, which
//! looks square. Where there are walls between rows, every row gets a second line. Hexes stand in
//! staggered columns. Holes are blank. Over a bridge the pipe that goes down lies above the one that
//! goes across, whose colour is behind it. What wraps around an edge ends beyond it.

mod canvas;
mod hexes;
mod squares;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::board::{Board, Cell, Lattice};
use crate::colour::{self, Colour};
use crate::graph::{self, Direction};
use crate::puzzle::Puzzle;
use crate::solution::Flow;

pub use canvas::Glyph;

/// How a board is drawn. The default has letters for terminals, box-drawing pipes and no colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle<'a> {
    /// Colour terminals and pipes by ANSI escape codes with 24-bit colours.
    pub ansi: bool,
    /// Only ASCII characters in pipes, walls and dots.
    pub ascii: bool,
    /// Terminals as dots, not by name. Without `ansi` they can't be distinguished.
    pub dots: bool,
    /// Red, green, blue by colour number; colours past its end are drawn without colour.
    pub palette: &'a [[u8; 3]],
    /// What colours are called, by colour number; past its end [`colour::name`] is used.
    pub names: &'a [String],
}

/// Draws a puzzle with flows, finished or not. Every line ends in a newline; there are no blanks at
/// its end. Cells of flows that are not on the board are passed over.
#[must_use]
pub fn draw(puzzle: &Puzzle, flows: &[Flow], style: TextStyle) -> String {
    canvas(puzzle, flows, style).print(style)
}

/// The same as rows of characters, all of one length, for callers that put them on a screen and paint them.
#[must_use]
pub fn glyphs(puzzle: &Puzzle, flows: &[Flow], style: TextStyle) -> Vec<Vec<Glyph>> {
    canvas(puzzle, flows, style).into_rows()
}

fn canvas(puzzle: &Puzzle, flows: &[Flow], style: TextStyle) -> canvas::Canvas {
    let drawing = Drawing::new(puzzle, flows, style);
    match puzzle.board().description().lattice {
        Lattice::Square => squares::squares(&drawing),
        Lattice::Hex => hexes::hexes(&drawing),
    }
}

/// Bits of the directions north, east, south and west in which pipes leave a cell.
type Arms = u8;
const NORTH: Arms = 1;
const EAST: Arms = 2;
const SOUTH: Arms = 4;
const WEST: Arms = 8;

/// By arms.
const BOX: [char; 16] = [
    '·', '╵', '╶', '└', '╷', '│', '┌', '├', '╴', '┘', '─', '┴', '┐', '┤', '┬', '┼',
];
const ASCII: [char; 16] = [
    '.', '|', '-', '+', '|', '|', '+', '+', '-', '+', '-', '+', '+', '+', '+', '+',
];

struct Drawing<'a> {
    puzzle: &'a Puzzle,
    board: &'a Board,
    style: TextStyle<'a>,
    /// The colour of the pipe that leaves a cell in a direction.
    arms: HashMap<(Cell, Direction), Colour>,
    /// The last flow in each cell.
    colour_of: HashMap<Cell, Colour>,
    name_width: usize,
}

impl<'a> Drawing<'a> {
    fn new(puzzle: &'a Puzzle, flows: &[Flow], style: TextStyle<'a>) -> Self {
        let board = puzzle.board();
        let (mut arms, mut colour_of) = (HashMap::new(), HashMap::new());
        for flow in flows {
            for &cell in flow.cells.iter().filter(|&&cell| board.exists(cell)) {
                colour_of.insert(cell, flow.colour);
            }
            for pair in flow.cells.windows(2) {
                for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                    if let Some(direction) = way(board, from, to) {
                        arms.insert((from, direction), flow.colour);
                    }
                }
            }
        }
        let mut drawing = Self {
            puzzle,
            board,
            style,
            arms,
            colour_of,
            name_width: 1,
        };
        if !style.dots {
            let widths = puzzle
                .colours()
                .into_iter()
                .map(|colour| width(&drawing.name(colour)));
            drawing.name_width = widths.max().unwrap_or(1);
        }
        drawing
    }

    fn name(&self, colour: Colour) -> String {
        match self.style.names.get(usize::from(colour)) {
            Some(name) => name.clone(),
            None => colour::name(colour),
        }
    }

    fn terminal(&self, colour: Colour) -> String {
        match (self.style.dots, self.style.ascii) {
            (false, _) => self.name(colour),
            (true, false) => "●".to_owned(),
            (true, true) => "O".to_owned(),
        }
    }

    fn arm(&self, cell: Cell, direction: u8) -> Option<Colour> {
        self.arms.get(&(cell, Direction(direction))).copied()
    }

    fn walled(&self, cell: Cell, direction: u8) -> bool {
        let board = self.board.description();
        graph::step(board, cell, Direction(direction)).is_some_and(|to| {
            board
                .walls
                .binary_search(&(cell.min(to), cell.max(to)))
                .is_ok()
        })
    }

    /// The character of a pipe with such arms.
    fn glyph(&self, arms: Arms) -> char {
        let glyphs = if self.style.ascii { &ASCII } else { &BOX };
        glyphs[usize::from(arms)]
    }
}

fn way(board: &Board, from: Cell, to: Cell) -> Option<Direction> {
    let graph = board.graph();
    let nodes = if board.exists(from) {
        graph.nodes_of(from)
    } else {
        &[]
    };
    let mut links = nodes.iter().flat_map(|&node| graph.links(node));
    links
        .find(|link| graph.cell_of(link.node) == to)
        .map(|link| link.direction)
}

fn width(name: &str) -> usize {
    name.chars().count()
}
