//! Boards as pictures: self-contained SVG, in the style of the game.
//!
//! Thin lines lie between cells, stronger ones at the board's edge and around holes, dashed ones
//! where the board wraps around; walls are bright and thick. Pipes have round joins and tint their
//! cells; over a bridge the one that goes down lies above the one that goes across. What wraps around
//! an edge ends just beyond it.
//!
//! Strokes lie above everything else, white with a dark rim: a ring where the mouse presses, a dot at
//! each point, a square where it lets go. The pipes below them are thinner and darker then.

mod lines;
mod pipes;
mod strokes;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::board::{Cell, Lattice};
use crate::colour::{self, Colour};
use crate::geometry::Point;
use crate::message::Stroke;
use crate::place::{centre, corners};
use crate::puzzle::{Puzzle, Terminal};
use crate::solution::Flow;

/// How a board is drawn. The default has no letters and takes all colours from [`colour::palette`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SvgStyle<'a> {
    /// Red, green, blue by colour number; colours past its end get [`colour::palette`]'s.
    pub palette: &'a [[u8; 3]],
    /// Terminals bear their names, and strokes their numbers in the order of play.
    pub letters: bool,
    /// What colours are called, by colour number; past its end [`colour::name`] is used.
    pub names: &'a [String],
    /// What the picture shows; empty: no title.
    pub title: &'a str,
    /// What the mouse does, in the order of play. The picture has room for one cell beyond the board's
    /// edges.
    pub strokes: &'a [Stroke],
    /// Where strokes may go: polygons in board units, filled together and faintly, below the strokes.
    pub corridor: &'a [Vec<Point>],
}

/// A cell's side, in the picture's units.
const CELL: f64 = 48.0;
/// Around the board, in cells.
const MARGIN: f64 = 0.5;
const PIPE: f64 = 0.34;
/// Below strokes.
const THIN_PIPE: f64 = 0.24;
const DISC: f64 = 0.36;
/// How much of its colour a covered cell takes on.
const TINT: f64 = 0.25;

/// Draws a puzzle with flows, finished or not. Cells of flows that are not on the board are passed
/// over.
#[must_use]
pub fn draw(puzzle: &Puzzle, flows: &[Flow], style: SvgStyle) -> String {
    let last = puzzle.colours().last().copied().unwrap_or_default();
    let last = flows
        .iter()
        .map(|flow| flow.colour)
        .max()
        .unwrap_or(0)
        .max(last);
    let mut palette = colour::palette(usize::from(last) + 1);
    for (own, &given) in palette.iter_mut().zip(style.palette) {
        *own = given;
    }
    let picture = Picture {
        puzzle,
        flows,
        style,
        palette,
    };
    picture.draw()
}

struct Picture<'a> {
    puzzle: &'a Puzzle,
    flows: &'a [Flow],
    style: SvgStyle<'a>,
    palette: Vec<[u8; 3]>,
}

impl Picture<'_> {
    fn draw(&self) -> String {
        let board = self.puzzle.board();
        // Hexes stand out of their bounding grid to the left and right, and by half a cell below.
        let hexes = board.description().lattice == Lattice::Hex;
        let (aside, below) = if hexes { (1.0 / 6.0, 0.5) } else { (0.0, 0.0) };
        let margin = strokes::margin(self, below);
        let left = -(margin + aside) * CELL;
        let top = -margin * CELL;
        let width = (board.cols() as f64 + 2.0 * (margin + aside)) * CELL;
        let height = (board.rows() as f64 + below + 2.0 * margin) * CELL;
        let frame = [left, top, width, height].map(number).join(" ");
        let (width, height) = (number(width), number(height));

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"{frame}\">\n"
        );
        if !self.style.title.is_empty() {
            svg += &format!("<title>{}</title>\n", escaped(self.style.title));
        }
        svg += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"#000\"/>\n",
            number(left),
            number(top),
        );
        self.tints(&mut svg);
        lines::lines(self, &mut svg);
        pipes::pipes(self, &mut svg);
        lines::bridges(self, &mut svg);
        pipes::upper_pipes(self, &mut svg);
        lines::walls(self, &mut svg);
        strokes::corridor(self, &mut svg);
        self.terminals(&mut svg);
        strokes::strokes(self, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// Covered cells take on some of their colour; where two pipes cross there is none to choose.
    fn tints(&self, svg: &mut String) {
        let board = self.puzzle.board();
        for flow in self.flows {
            let mut outlines = String::new();
            let on_board = |cell: &&Cell| board.exists(**cell) && !board.is_bridge(**cell);
            for &cell in flow.cells.iter().filter(on_board) {
                let all = corners(board.description().lattice);
                for (index, corner) in all.iter().enumerate() {
                    let letter = if index == 0 { 'M' } else { 'L' };
                    step(&mut outlines, letter, self.at(cell, *corner));
                }
                outlines.push('Z');
            }
            if !outlines.is_empty() {
                let colour = self.colour(flow.colour);
                svg.push_str(&format!(
                    "<path fill=\"{colour}\" fill-opacity=\"{TINT}\" d=\"{outlines}\"/>\n"
                ));
            }
        }
    }

    fn terminals(&self, svg: &mut String) {
        for terminal in self.puzzle.terminals() {
            let [x, y] = self.at(terminal.cell, [0.0, 0.0]);
            let (cx, cy) = (number(x), number(y));
            let radius = number(DISC * CELL);
            let colour = self.colour(terminal.colour);
            svg.push_str(&format!(
                "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"{radius}\" fill=\"{colour}\"/>\n"
            ));
            if self.style.letters {
                self.letter(svg, terminal);
            }
        }
    }

    fn letter(&self, svg: &mut String, terminal: &Terminal) {
        let name = match self.style.names.get(usize::from(terminal.colour)) {
            Some(name) => name.clone(),
            None => colour::name(terminal.colour),
        };
        if !self.style.strokes.is_empty() {
            // The middle is the mouse's.
            let place = self.at(terminal.cell, [strokes::aside(self), 0.44]);
            let ink = self.colour(terminal.colour);
            return strokes::small(svg, &name, place, &ink);
        }
        let [x, y] = self.at(terminal.cell, [0.0, 0.0]);
        // Long names still fit into the disc.
        let size = CELL * (0.46_f64).min(0.95 / name.chars().count().max(1) as f64);
        let ink = if is_bright(self.rgb(terminal.colour)) {
            "#000"
        } else {
            "#fff"
        };
        svg.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" font-family=\"sans-serif\" font-weight=\"bold\" font-size=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{}</text>\n",
            number(x),
            // Capitals are some 0.7 of the size high.
            number(y + 0.35 * size),
            number(size),
            escaped(&name),
        ));
    }

    /// A point about a cell's centre, in board units, as a point of the picture.
    fn at(&self, cell: Cell, [dx, dy]: Point) -> Point {
        let [x, y] = centre(self.puzzle.board(), cell);
        [(x + dx) * CELL, (y + dy) * CELL]
    }

    fn rgb(&self, colour: Colour) -> [u8; 3] {
        let rgb = self.palette.get(usize::from(colour)).copied();
        rgb.unwrap_or([0x80; 3])
    }

    fn colour(&self, colour: Colour) -> String {
        hex(self.rgb(colour))
    }

    /// A pipe's width, in cells, and its colour.
    fn pipe(&self, colour: Colour) -> (f64, String) {
        if self.style.strokes.is_empty() {
            return (PIPE, self.colour(colour));
        }
        let darker = |part: u8| (f64::from(part) * 0.65) as u8;
        (THIN_PIPE, hex(self.rgb(colour).map(darker)))
    }
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn is_bright(rgb: [u8; 3]) -> bool {
    let [red, green, blue] = rgb.map(f64::from);
    0.299 * red + 0.587 * green + 0.114 * blue > 120.0
}

/// Adds a step of a path.
fn step(path: &mut String, letter: char, [x, y]: Point) {
    // Writing to a String can't fail.
    let _ = write!(path, "{letter}{} {}", number(x), number(y));
}

/// A number with at most two decimals, as short as it can be.
fn number(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // No minus before nothing.
    format!("{}", rounded + 0.0)
}

/// A text within XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML has no sign for these, not even an escaped one.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}
