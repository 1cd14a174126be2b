//! Boards as text with pipes, for a terminal or a log.
//!
//! A cell is as wide as the longest name and one character more: on most boards two characters, which
//! looks square. Where there are walls between rows, every row gets a second line.
//! Hexes are drawn in staggered columns, terminals in brackets, pipes by name only.

use std::collections::HashMap;

use crate::board::{Board, Cell, Lattice};
use crate::colour::{self, Colour};
use crate::graph::{self, Direction};
use crate::puzzle::Puzzle;
use crate::solution::Flow;

/// How a board is drawn. The default has letters for terminals, box-drawing pipes and no colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style<'a> {
    /// Colour terminals and pipes by ANSI escape codes with 24-bit colours.
    pub ansi: bool,
    /// Only ASCII characters in pipes, walls and dots.
    pub ascii: bool,
    /// Terminals as dots, not by name. Without `ansi` they can't be told apart.
    pub dots: bool,
    /// Red, green, blue by colour number; colours past its end are drawn without colour.
    pub palette: &'a [[u8; 3]],
    /// What colours are called, by colour number; past its end [`colour::name`] is used.
    pub names: &'a [String],
}

/// Draws a puzzle with flows, finished or not. Every line ends in a newline; there are no blanks at
/// its end. Cells of flows that are not on the board are passed over.
#[must_use]
pub fn draw(puzzle: &Puzzle, flows: &[Flow], style: Style) -> String {
    let drawing = Drawing::new(puzzle, flows, style);
    let canvas = match puzzle.board().description().lattice {
        Lattice::Square => drawing.squares(),
        Lattice::Hex => drawing.hexes(),
    };
    canvas.print(style)
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
    style: Style<'a>,
    /// The colour of the pipe that leaves a cell in a direction.
    arms: HashMap<(Cell, Direction), Colour>,
    /// The last flow in each cell.
    colour_of: HashMap<Cell, Colour>,
    name_width: usize,
}

impl<'a> Drawing<'a> {
    fn new(puzzle: &'a Puzzle, flows: &[Flow], style: Style<'a>) -> Self {
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

    fn squares(&self) -> Canvas {
        let (rows, cols) = (self.board.rows(), self.board.cols());
        let wraps = self.board.description().warps;
        let tall = self.board.cells().any(|cell| self.walled(cell, 2));
        let height = if tall { 2 } else { 1 };
        let cell_width = self.name_width + if tall { 3 } else { 1 };
        let (left, top) = (usize::from(wraps), usize::from(wraps && tall));
        // Below the last row there is something to see only where the board wraps around.
        let last = usize::from(tall && !wraps);
        let mut canvas = Canvas::new(top + rows * height - last, left + cols * cell_width);
        let glyphs = if self.style.ascii { &ASCII } else { &BOX };
        let (along, across) = (
            glyphs[usize::from(EAST | WEST)],
            glyphs[usize::from(NORTH | SOUTH)],
        );
        let (wall_along, wall_across) = if self.style.ascii {
            ('=', '!')
        } else {
            ('━', '┃')
        };

        for cell in self.board.cells() {
            let (row, col) = self.board.row_col(cell);
            let (y, x) = (top + row * height, left + col * cell_width);
            let end = x + cell_width - 1;
            self.square(&mut canvas, cell, y, x, glyphs);
            if let Some(colour) = self.arm(cell, 1) {
                for x in x + 1..=end {
                    canvas.put_if_free(y, x, along, Some(colour));
                }
            } else if self.walled(cell, 1) {
                canvas.put(y, end, wall_across, None);
            }
            if tall {
                if let Some(colour) = self.arm(cell, 2) {
                    canvas.put(y + 1, x, across, Some(colour));
                } else if self.walled(cell, 2) {
                    (x..end).for_each(|x| canvas.put(y + 1, x, wall_along, None));
                }
            }
            // What comes around an edge enters from the margins.
            if wraps && col == 0 {
                if let Some(colour) = self.arm(cell, 3) {
                    canvas.put(y, 0, along, Some(colour));
                } else if self.walled(cell, 3) {
                    canvas.put(y, 0, wall_across, None);
                }
            }
            if wraps && tall && row == 0 {
                if let Some(colour) = self.arm(cell, 0) {
                    canvas.put(0, x, across, Some(colour));
                } else if self.walled(cell, 0) {
                    (x..end).for_each(|x| canvas.put(0, x, wall_along, None));
                }
            }
        }
        canvas
    }

    /// The inside of one square cell.
    fn square(&self, canvas: &mut Canvas, cell: Cell, y: usize, x: usize, glyphs: &[char; 16]) {
        if let Some(colour) = self.puzzle.terminal_at(cell) {
            canvas.write(y, x, &self.terminal(colour), Some(colour));
            return;
        }
        let arms = (0..4).filter(|&way| self.arm(cell, way).is_some());
        let arms = arms.fold(0, |arms, way| arms | (1 << way));
        let colour = self.colour_of.get(&cell).copied();
        if self.board.is_bridge(cell) {
            // Two colours can't share a character.
            let both =
                self.arm(cell, 0).or(self.arm(cell, 2)) == self.arm(cell, 1).or(self.arm(cell, 3));
            let one_way = arms & (NORTH | SOUTH) == 0 || arms & (EAST | WEST) == 0;
            canvas.put(y, x, glyphs[15], colour.filter(|_| both || one_way));
        } else {
            canvas.put(y, x, glyphs[usize::from(arms)], colour);
        }
    }

    fn hexes(&self) -> Canvas {
        let (rows, cols) = (self.board.rows(), self.board.cols());
        let cell_width = self.name_width + 3;
        let mut canvas = Canvas::new(2 * rows + 1, cols * cell_width);
        let empty = if self.style.ascii { "." } else { "·" };
        let pipe = if self.style.ascii { "o" } else { "•" };
        for cell in self.board.cells() {
            let (row, col) = self.board.row_col(cell);
            // An even column lies half a cell lower.
            let (y, x) = (2 * row + usize::from(col % 2 == 0), col * cell_width);
            let flow = self.colour_of.get(&cell).copied();
            match (self.puzzle.terminal_at(cell), flow) {
                (Some(colour), _) => {
                    canvas.write(y, x, &format!("({})", self.terminal(colour)), Some(colour));
                }
                (None, Some(colour)) if self.style.dots => {
                    canvas.write(y, x + 1, pipe, Some(colour))
                }
                (None, Some(colour)) => canvas.write(y, x + 1, &self.name(colour), Some(colour)),
                (None, None) => canvas.write(y, x + 1, empty, None),
            }
        }
        canvas
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

/// Characters with the colours that they are drawn in.
struct Canvas {
    rows: Vec<Vec<(char, Option<Colour>)>>,
}

impl Canvas {
    fn new(height: usize, width: usize) -> Self {
        Self {
            rows: vec![vec![(' ', None); width]; height],
        }
    }

    fn put(&mut self, y: usize, x: usize, character: char, colour: Option<Colour>) {
        if let Some(place) = self.rows.get_mut(y).and_then(|row| row.get_mut(x)) {
            *place = (character, colour);
        }
    }

    fn put_if_free(&mut self, y: usize, x: usize, character: char, colour: Option<Colour>) {
        if self
            .rows
            .get(y)
            .and_then(|row| row.get(x))
            .is_some_and(|place| place.0 == ' ')
        {
            self.put(y, x, character, colour);
        }
    }

    fn write(&mut self, y: usize, x: usize, text: &str, colour: Option<Colour>) {
        for (offset, character) in text.chars().enumerate() {
            self.put(y, x + offset, character, colour);
        }
    }

    fn print(&self, style: Style) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let end = row
                .iter()
                .rposition(|place| place.0 != ' ')
                .map_or(0, |last| last + 1);
            for run in row[..end].chunk_by(|a, b| a.1 == b.1) {
                let paint = run[0]
                    .1
                    .and_then(|colour| style.palette.get(usize::from(colour)));
                let characters = run.iter().map(|place| place.0);
                match paint.filter(|_| style.ansi) {
                    Some([red, green, blue]) => {
                        text.push_str(&format!("\x1b[38;2;{red};{green};{blue}m"));
                        text.extend(characters);
                        text.push_str("\x1b[0m");
                    }
                    None => text.extend(characters),
                }
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests;
