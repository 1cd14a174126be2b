//! Cells, lines, pipes and terminals.

use flowpipe_puzzle::graph::step;
use flowpipe_puzzle::place::{centre, corners, direction, offset};
use flowpipe_puzzle::{Board, Cell, Direction, Flow, Point, Puzzle};

use super::canvas::{Canvas, Ink};
use super::{Layout, Scene, paint};

/// Radius of a terminal, in cells. This and what follows is measured on screenshots of the real
/// game.
pub const TERMINAL_RADIUS: f64 = 0.35;
/// Width of a pipe, in cells.
pub const PIPE_WIDTH: f64 = 0.33;
/// How strongly a pipe tints its cells.
const TINT: f64 = 0.27;
/// How much the board dims the lights behind it.
const DIMMING: f64 = 0.55;

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    let board = scene.puzzle.board();
    let black = Ink {
        paint: [0, 0, 0],
        opacity: DIMMING,
    };
    canvas.areas(
        board.cells().map(|cell| outline(board, layout, cell)),
        black,
    );
    let flows: Vec<&Flow> = scene
        .flows
        .iter()
        .filter(|flow| is_on(board, flow))
        .collect();
    for flow in &flows {
        let tint = Ink {
            paint: paint::of(scene.palette, flow.colour),
            opacity: TINT,
        };
        canvas.areas(
            flow.cells.iter().map(|&cell| outline(board, layout, cell)),
            tint,
        );
    }
    draw_lines(canvas, scene, layout);
    let size = layout.cell_size();
    for flow in flows {
        let ink = paint::of(scene.palette, flow.colour).into();
        canvas.lines(pipe(board, layout, &flow.cells), PIPE_WIDTH * size, ink);
    }
    for terminal in scene.puzzle.terminals() {
        let ink = paint::of(scene.palette, terminal.colour).into();
        let middle = layout.to_frame(centre(board, terminal.cell));
        canvas.disc(middle, TERMINAL_RADIUS * size, ink);
    }
}

/// A stretch of a flow: cells one after the other.
pub(super) struct Stretch<'a> {
    pub(super) paint: [u8; 3],
    /// All cells that the pipe is drawn through.
    pub(super) cells: &'a [Cell],
    /// Those of them that are tinted.
    pub(super) tinted: &'a [Cell],
    /// Those of them that are the flow's ends.
    pub(super) ends: &'a [Cell],
}

/// Draws a stretch of a flow onto a board that was drawn without flows, which costs much less than
/// drawing it all. Only the edges of lines beside drawn cells differ from [`draw`]'s, by a shade.
pub(super) fn draw_stretch(canvas: &mut Canvas, puzzle: &Puzzle, layout: &Layout, flow: &Stretch) {
    let board = puzzle.board();
    let size = layout.cell_size();
    // The lines are there already: the tint stays between them.
    let inner = 1.0 - line_width(layout) / size;
    let tint = Ink {
        paint: flow.paint,
        opacity: TINT,
    };
    let corners = corners(board.description().lattice);
    let area = |&cell: &Cell| {
        let corners = corners.iter();
        corners
            .map(|&[x, y]| from_centre(board, layout, cell, [x * inner, y * inner]))
            .collect()
    };
    canvas.areas(flow.tinted.iter().map(area), tint);
    let pipe = pipe(board, layout, flow.cells);
    canvas.lines(pipe, PIPE_WIDTH * size, flow.paint.into());
    let ends = flow.ends.iter();
    for &cell in ends.filter(|&&cell| puzzle.terminal_at(cell).is_some()) {
        let middle = layout.to_frame(centre(board, cell));
        canvas.disc(middle, TERMINAL_RADIUS * size, flow.paint.into());
    }
}

/// Width of the thin lines, in pixels.
fn line_width(layout: &Layout) -> f64 {
    1.0 + layout.cell_size() / 80.0
}

/// Whether all cells of a flow are on the board.
pub(super) fn is_on(board: &Board, flow: &Flow) -> bool {
    flow.cells.iter().all(|&cell| board.exists(cell))
}

/// A point given from a cell's centre in board units, in frame pixels.
fn from_centre(board: &Board, layout: &Layout, cell: Cell, [dx, dy]: Point) -> Point {
    let [x, y] = centre(board, cell);
    layout.to_frame([x + dx, y + dy])
}

fn outline(board: &Board, layout: &Layout, cell: Cell) -> Vec<Point> {
    let corners = corners(board.description().lattice).iter();
    corners
        .map(|&corner| from_centre(board, layout, cell, corner))
        .collect()
}

/// The thin lines between cells, and the thick ones where there is no passage. On a plain rectangle
/// the border is thin too.
fn draw_lines(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    let board = scene.puzzle.board();
    let (mut thin, mut thick) = (Vec::new(), Vec::new());
    for cell in board.cells() {
        let outline = outline(board, layout, cell);
        for (way, &corner) in outline.iter().enumerate() {
            let side = vec![corner, outline[(way + 1) % outline.len()]];
            let passage = step(board.description(), cell, Direction(way as u8))
                .is_some_and(|next| board.touch(cell, next));
            if passage || board.is_plain_rectangle() {
                &mut thin
            } else {
                &mut thick
            }
            .push(side);
        }
        if board.is_bridge(cell) {
            thin.extend(bridge(board, layout, cell));
        }
    }
    let width = line_width(layout);
    canvas.lines(thin, width, scene.line.into());
    canvas.lines(thick, width * 2.0, paint::brightest(scene.line).into());
}

/// Rails along both ways over a bridge, left open where the ways cross.
fn bridge(board: &Board, layout: &Layout, cell: Cell) -> Vec<Vec<Point>> {
    const RAIL: f64 = 0.3;
    let ways = offset_ways(board);
    let mut rails = Vec::new();
    for [dx, dy] in ways {
        // Along the way from the side of the cell inwards, on its left and on its right.
        for side in [-RAIL, RAIL] {
            let at = |along: f64| {
                let point = [dx * along - dy * side, dy * along + dx * side];
                from_centre(board, layout, cell, point)
            };
            rails.push(vec![at(0.5), at(RAIL)]);
        }
    }
    rails
}

fn offset_ways(board: &Board) -> impl Iterator<Item = Point> {
    let lattice = board.description().lattice;
    (0..corners(lattice).len() as u8).map(move |way| offset(lattice, Direction(way)))
}

/// The lines of a pipe: one, or several where it goes over an edge of the board.
fn pipe(board: &Board, layout: &Layout, cells: &[Cell]) -> Vec<Vec<Point>> {
    let Some(&first) = cells.first() else {
        return Vec::new();
    };
    let middle = |cell| from_centre(board, layout, cell, [0.0, 0.0]);
    let mut lines = Vec::new();
    let mut line = vec![middle(first)];
    for pair in cells.windows(2) {
        let (from, to) = (centre(board, pair[0]), centre(board, pair[1]));
        // Cells that are no step apart are joined straight: the picture shows what it is given.
        if let Some(way) = direction(board, pair[0], pair[1]) {
            let [dx, dy] = offset(board.description().lattice, way);
            if [from[0] + dx, from[1] + dy] != to {
                line.push(layout.to_frame([from[0] + dx / 2.0, from[1] + dy / 2.0]));
                let entry = layout.to_frame([to[0] - dx / 2.0, to[1] - dy / 2.0]);
                lines.push(std::mem::replace(&mut line, vec![entry]));
            }
        }
        line.push(middle(pair[1]));
    }
    lines.push(line);
    lines
}
