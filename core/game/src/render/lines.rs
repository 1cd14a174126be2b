//! The lines of a board: between cells, around them, and on bridges.

use std::collections::BTreeSet;

use flowpipe_puzzle::graph::step;
use flowpipe_puzzle::place::{centre, corners, offset};
use flowpipe_puzzle::{Board, Cell, Direction, Lattice, Point};

use super::canvas::Canvas;
use super::{Layout, Scene};

/// Where an edge of the board is open, lines go on outwards, in cells.
pub(super) const STUB: f64 = 0.3;

/// How far the rails of a bridge are from the corners of its cell, in sides of the cell.
const RAIL: f64 = 0.2;

/// How much thicker than a thin line the lines are where there is no passage.
pub(super) const OUTLINE: f64 = 3.0;
/// And rails.
const RAILS: f64 = 2.0;

/// The lines of some cells.
#[derive(Default)]
pub(super) struct Lines {
    /// Between cells, and the border of a plain rectangle.
    thin: Vec<Vec<Point>>,
    /// Where there is no passage.
    thick: Vec<Vec<Point>>,
    rails: Vec<Vec<Point>>,
}

impl Lines {
    /// All lines of a board.
    pub(super) fn all(board: &Board, layout: &Layout) -> Self {
        let mut lines = Self::default();
        for cell in board.cells() {
            lines.add_sides(board, layout, cell);
            lines.add_rails(board, layout, cell);
        }
        lines
    }

    /// Those lines that a tint of cells may cover though it ends at the thin lines.
    pub(super) fn thick_on(board: &Board, layout: &Layout, cells: &[Cell]) -> Self {
        let mut lines = Self::default();
        if board.is_plain_rectangle() {
            return lines;
        }
        let mut near = BTreeSet::new();
        for &cell in cells {
            lines.add_rails(board, layout, cell);
            let (row, col) = board.row_col(cell);
            for row in row.saturating_sub(1)..=row + 1 {
                let cols = col.saturating_sub(1)..=col + 1;
                near.extend(cols.filter_map(|col| board.cell(row, col)));
            }
        }
        for cell in near {
            lines.add_sides(board, layout, cell);
        }
        lines.thin.clear();
        lines
    }

    pub(super) fn draw(self, canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
        let width = width(layout);
        let (line, outline) = (
            scene.theme.line(scene.line),
            scene.theme.outline(scene.line),
        );
        canvas.lines(self.thin, width, line.into());
        canvas.lines(self.rails, width * RAILS, outline.into());
        canvas.lines(self.thick, width * OUTLINE, outline.into());
    }

    fn add_sides(&mut self, board: &Board, layout: &Layout, cell: Cell) {
        let is_plain = board.is_plain_rectangle();
        let description = board.description();
        let outline = outline(board, layout, cell);
        for (way, &corner) in outline.iter().enumerate() {
            let (next, way) = ((way + 1) % outline.len(), Direction(way as u8));
            let neighbour = step(description, cell, way);
            let is_open = neighbour.is_some_and(|next| board.touch(cell, next));
            let side = vec![corner, outline[next]];
            if !is_open && !is_plain {
                self.thick.push(side);
                continue;
            }
            self.thin.push(side);
            if is_open && leaves(board, cell, way) {
                let corners = [usize::from(way.0), next];
                let stubs = corners.map(|corner| stub(board, layout, cell, way, corner));
                self.thin.extend(stubs);
            }
        }
    }

    /// Two rails along each way over a bridge, open where the ways cross: an angle at each corner.
    fn add_rails(&mut self, board: &Board, layout: &Layout, cell: Cell) {
        if !board.is_bridge(cell) {
            return;
        }
        let corners = corners(board.description().lattice);
        let count = corners.len();
        for (index, &[x, y]) in corners.iter().enumerate() {
            let towards = |other: usize| {
                let [to_x, to_y] = corners[other % count];
                [(to_x - x) * RAIL, (to_y - y) * RAIL]
            };
            let ([ax, ay], [bx, by]) = (towards(index + 1), towards(index + count - 1));
            let place = |[dx, dy]: Point| from_centre(board, layout, cell, [x + dx, y + dy]);
            let angle = [[ax, ay], [ax + bx, ay + by], [bx, by]];
            self.rails.push(angle.map(place).to_vec());
        }
    }
}

/// Width of the thin lines, in pixels.
pub(super) fn width(layout: &Layout) -> f64 {
    width_of(layout.cell_size())
}

/// The same for cells of a size in pixels.
pub(super) fn width_of(cell: f64) -> f64 {
    1.0 + cell / 80.0
}

/// A point given from a cell's centre in board units, in frame pixels.
pub(super) fn from_centre(board: &Board, layout: &Layout, cell: Cell, [dx, dy]: Point) -> Point {
    let [x, y] = centre(board, cell);
    layout.to_frame([x + dx, y + dy])
}

/// The corners of a cell, in frame pixels.
pub(super) fn outline(board: &Board, layout: &Layout, cell: Cell) -> Vec<Point> {
    let corners = corners(board.description().lattice).iter();
    corners
        .map(|&corner| from_centre(board, layout, cell, corner))
        .collect()
}

/// Whether a step from a cell goes over an edge of the board.
fn leaves(board: &Board, cell: Cell, way: Direction) -> bool {
    let ([x, y], [dx, dy]) = (
        centre(board, cell),
        offset(board.description().lattice, way),
    );
    let Some(next) = step(board.description(), cell, way) else {
        return false;
    };
    centre(board, next) != [x + dx, y + dy]
}

/// The line that goes on outwards at a corner of a cell's open side.
fn stub(board: &Board, layout: &Layout, cell: Cell, way: Direction, corner: usize) -> Vec<Point> {
    let lattice = board.description().lattice;
    let corner = corners(lattice)[corner];
    let from = from_centre(board, layout, cell, corner);
    let outwards = match lattice {
        Lattice::Square => offset(lattice, way),
        // Three hexagons meet at a corner: the line between the other two points away from this one.
        Lattice::Hex => corner,
    };
    let [dx, dy] = [0, 1].map(|axis| outwards[axis] * layout.cell[axis]);
    let share = STUB * layout.cell[1] / dx.hypot(dy);
    vec![from, [from[0] + dx * share, from[1] + dy * share]]
}
