//! Where cells lie in board units (see [`crate::geometry`]).
//!
//! A square cell is a unit square. A hexagonal one is a hexagon of width 4/3 and height 1 about its
//! centre, columns one unit apart, the even ones half a unit lower: its bounding grid is `cols` wide
//! and `rows + 1/2` high, and its hexagons stand out by 1/6 to the left and to the right. A pointer
//! is taken to be in the unit square about a hexagon's centre: these squares tile the plane too, and
//! touch exactly where the hexagons do.

use std::collections::BTreeSet;

use crate::board::{Board, Cell, Lattice};
use crate::geometry::Point;
use crate::graph::{Direction, step};

/// The centre of a cell.
#[must_use]
pub fn centre(board: &Board, cell: Cell) -> Point {
    let (row, col) = board.row_col(cell);
    [
        col as f64 + 0.5,
        row as f64 + 0.5 + lowered(board, col as i64),
    ]
}

/// The cell under a point, if there is one. On a board that warps, one cell beyond an edge is the
/// cell at the opposite edge.
#[must_use]
pub fn cell_at(board: &Board, [x, y]: Point) -> Option<Cell> {
    if !(x.is_finite() && y.is_finite()) {
        return None;
    }
    // The cast saturates, so that a point far away stays far away.
    let col = x.floor() as i64;
    cell_in_grid(board, (y - lowered(board, col)).floor() as i64, col)
}

/// The step from a cell's centre to the next cell's in a direction.
#[must_use]
pub fn offset(lattice: Lattice, direction: Direction) -> Point {
    const SQUARE: [Point; 4] = [[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]];
    const HEX: [Point; 6] = [
        [0.0, -1.0],
        [1.0, -0.5],
        [1.0, 0.5],
        [0.0, 1.0],
        [-1.0, 0.5],
        [-1.0, -0.5],
    ];
    match lattice {
        Lattice::Square => SQUARE[usize::from(direction.0) % SQUARE.len()],
        Lattice::Hex => HEX[usize::from(direction.0) % HEX.len()],
    }
}

/// The corners of a cell about its centre, clockwise: side `d` of the cell, the one towards
/// direction `d`, runs from corner `d` to corner `d + 1`.
#[must_use]
pub fn corners(lattice: Lattice) -> &'static [Point] {
    const THIRD: f64 = 1.0 / 3.0;
    match lattice {
        Lattice::Square => &[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]],
        Lattice::Hex => &[
            [-THIRD, -0.5],
            [THIRD, -0.5],
            [2.0 * THIRD, 0.0],
            [THIRD, 0.5],
            [-THIRD, 0.5],
            [-2.0 * THIRD, 0.0],
        ],
    }
}

/// The sides of all cells, each once, as pairs of ends.
#[must_use]
pub fn sides(board: &Board) -> Vec<[Point; 2]> {
    // Corners of cells lie on sixths of a board unit.
    let whole = |[x, y]: Point| ((x * 6.0).round() as i64, (y * 6.0).round() as i64);
    let corners = corners(board.description().lattice);
    let mut known = BTreeSet::new();
    let mut sides = Vec::new();
    for cell in board.cells() {
        let [x, y] = centre(board, cell);
        let at = |corner: usize| {
            let [dx, dy] = corners[corner % corners.len()];
            [x + dx, y + dy]
        };
        for side in 0..corners.len() {
            let ends = [at(side), at(side + 1)];
            let mut key = ends.map(whole);
            key.sort_unstable();
            if known.insert(key) {
                sides.push(ends);
            }
        }
    }
    sides
}

/// The way of a pipe along the centres of its cells. Where it wraps around the board's edge, one line ends `beyond` board
/// units past a cell's centre, and the next begins as far before the centre of the cell at the other edge. Cells that
/// the board does not have are left out.
#[must_use]
pub fn pipe(board: &Board, cells: &[Cell], beyond: f64) -> Vec<Vec<Point>> {
    let lattice = board.description().lattice;
    let mut lines: Vec<Vec<Point>> = Vec::new();
    let mut before = None;
    for &cell in cells.iter().filter(|&&cell| board.exists(cell)) {
        let here = centre(board, cell);
        let way = before.and_then(|before| Some((before, direction(board, before, cell)?)));
        match (way, lines.last_mut()) {
            (Some((before, way)), Some(line)) => {
                let [dx, dy] = offset(lattice, way);
                let [x, y] = centre(board, before);
                if [x + dx, y + dy] == here {
                    line.push(here);
                } else {
                    line.push([x + dx * beyond, y + dy * beyond]);
                    lines.push(vec![[here[0] - dx * beyond, here[1] - dy * beyond], here]);
                }
            }
            _ => lines.push(vec![here]),
        }
        before = Some(cell);
    }
    lines
}

/// The direction of the step from one cell to the next, if they are one step apart.
#[must_use]
pub fn direction(board: &Board, from: Cell, to: Cell) -> Option<Direction> {
    let ways = corners(board.description().lattice).len() as u8;
    (0..ways)
        .map(Direction)
        .find(|&way| step(board.description(), from, way) == Some(to))
}

/// How far beyond the board's edges cells are still found: those of the opposite edge.
#[must_use]
pub fn reach(board: &Board) -> i64 {
    i64::from(board.description().warps)
}

/// How much lower than on squares the cells of a column lie.
#[must_use]
pub fn lowered(board: &Board, col: i64) -> f64 {
    match board.description().lattice {
        Lattice::Hex if col.rem_euclid(2) == 0 => 0.5,
        _ => 0.0,
    }
}

/// The cell at a place of the grid, which may lie beyond an edge by [`reach`].
#[must_use]
pub fn cell_in_grid(board: &Board, row: i64, col: i64) -> Option<Cell> {
    let reach = reach(board);
    let within = |index: i64, count: usize| {
        let count = count as i64;
        (-reach..count + reach)
            .contains(&index)
            .then(|| index.rem_euclid(count) as usize)
    };
    board.cell(within(row, board.rows())?, within(col, board.cols())?)
}

#[cfg(test)]
mod tests {
    use crate::board::Description;

    use super::*;

    #[test]
    fn centres_lie_in_their_own_cells() {
        for lattice in [Lattice::Square, Lattice::Hex] {
            let board = Board::new(Description {
                rows: 4,
                cols: 5,
                lattice,
                ..Description::default()
            })
            .expect("a board");
            for cell in board.cells() {
                assert_eq!(cell_at(&board, centre(&board, cell)), Some(cell));
                for link in board.graph().links(board.graph().nodes_of(cell)[0]) {
                    let to = board.graph().cell_of(link.node);
                    let [x, y] = centre(&board, cell);
                    let [dx, dy] = offset(lattice, link.direction);
                    assert_eq!(centre(&board, to), [x + dx, y + dy]);
                    assert_eq!(direction(&board, cell, to), Some(link.direction));
                }
            }
        }
    }

    #[test]
    fn beyond_the_edge_is_nothing_or_the_other_side() {
        let plain = Board::rectangle(3, 3).expect("a board");
        assert_eq!(cell_at(&plain, [-0.5, 0.5]), None);
        assert_eq!(cell_at(&plain, [f64::NAN, 0.5]), None);
        assert_eq!(cell_at(&plain, [1e300, 0.5]), None);
        let warped = Board::new(Description {
            rows: 3,
            cols: 3,
            warps: true,
            ..Description::default()
        })
        .expect("a board");
        assert_eq!(cell_at(&warped, [-0.5, 0.5]), Some(2));
        assert_eq!(cell_at(&warped, [0.5, 3.5]), Some(0));
        assert_eq!(cell_at(&warped, [-1.5, 0.5]), None);
    }
}
