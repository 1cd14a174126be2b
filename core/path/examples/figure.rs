//! Draws one flow under every way of planning, side by side, as SVG.
//!
//! `cargo run -p flowpipe-path --example figure > docs/planners.svg`

use std::fmt::Write as _;

use flowpipe_path::{Config, End, Inner, Method, legs, plan};
use flowpipe_puzzle::message::Profile;
use flowpipe_puzzle::svg::{self, SvgStyle};
use flowpipe_puzzle::{Board, Cell, Flow, Point, Puzzle, Rules, Terminal};

/// Rows and columns of the board.
const SIDE: usize = 6;
/// A flow on which all four differ.
const CELLS: [Cell; 19] = [
    5, 11, 10, 9, 8, 2, 1, 0, 6, 12, 18, 19, 25, 26, 32, 33, 34, 28, 22,
];
/// Of one picture, in the figure's units.
const WIDTH: usize = 340;
const CAPTION: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let board = Board::rectangle(SIDE, SIDE)?;
    let terminals = [CELLS[0], CELLS[CELLS.len() - 1]].map(|cell| Terminal { cell, colour: 0 });
    let puzzle = Puzzle::new(board, terminals.to_vec(), Rules::default())?;
    let flow = Flow {
        colour: 0,
        cells: CELLS.to_vec(),
    };
    let corridor = corridor(puzzle.board());
    let mut figure = String::new();
    for (index, method) in Method::ALL.into_iter().enumerate() {
        let flows = std::slice::from_ref(&flow);
        let strokes = plan(
            &puzzle,
            flows,
            method,
            &Config::default(),
            Profile::Segments,
        );
        let style = SvgStyle {
            strokes: &strokes,
            corridor: &corridor,
            ..SvgStyle::default()
        };
        let picture = svg::draw(&puzzle, flows, style);
        let x = index * WIDTH;
        let sized = format!("<svg x=\"{x}\" y=\"0\" ");
        let start = picture.find("<svg").ok_or("no picture")?;
        let picture = without_size(&picture[start..]).replacen("<svg ", &sized, 1);
        let segments: usize = strokes.iter().map(|stroke| stroke.points.len() - 1).sum();
        let name = match method {
            Method::Cells => "every cell",
            Method::Turns => "turns only",
            Method::Corners => "corners and centres",
            Method::FewestSegments => "fewest segments",
        };
        let (middle, below) = (x + WIDTH / 2, WIDTH + CAPTION / 2);
        writeln!(
            figure,
            "{picture}\n<text x=\"{middle}\" y=\"{below}\">{name}: {segments}</text>"
        )?;
    }
    let (width, height) = (4 * WIDTH, WIDTH + CAPTION);
    println!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#000\"/>\n\
         <g fill=\"#ddd\" font-family=\"sans-serif\" font-size=\"22\" text-anchor=\"middle\">\n{figure}</g>\n</svg>"
    );
    Ok(())
}

/// The picture in the figure's size.
fn without_size(picture: &str) -> String {
    let end = picture.find('>').unwrap_or(0);
    let (head, rest) = picture.split_at(end);
    let kept = head
        .split(' ')
        .filter(|word| !word.starts_with("width=") && !word.starts_with("height="));
    let head = kept.collect::<Vec<_>>().join(" ");
    format!("{head} width=\"{WIDTH}\" height=\"{WIDTH}\"{rest}")
}

/// The flow's inner squares, and what joins them.
fn corridor(board: &Board) -> Vec<Vec<Point>> {
    let half = Inner::default().share() / 2.0;
    let mut polygons = Vec::new();
    for leg in legs(board, &CELLS, End::BesideTerminal) {
        let dragged = leg.dragged().len();
        for pair in leg.centres[..dragged].windows(2) {
            let [low, high] = [f64::min, f64::max]
                .map(|of| [of(pair[0][0], pair[1][0]), of(pair[0][1], pair[1][1])]);
            let (left, top) = (low[0] - half, low[1] - half);
            let (right, bottom) = (high[0] + half, high[1] + half);
            polygons.push(vec![
                [left, top],
                [right, top],
                [right, bottom],
                [left, bottom],
            ]);
        }
    }
    polygons
}
