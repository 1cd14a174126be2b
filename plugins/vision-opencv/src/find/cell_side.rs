//! The positions of the sides of cells, and of places in a cell where no line is.
//!
//! A side is examined near its two ends, where no pipe and no terminal hides a line.

use flowpipe_plugin::puzzle::graph::Direction;
use flowpipe_plugin::puzzle::place::corners;
use flowpipe_plugin::puzzle::{Cell, Lattice, Point};

use crate::find::grid::Grid;
use crate::find::profile::{Orientation, OuterSide, StretchPlace};
use crate::picture::polarity::Polarity;

/// How far inside of a cell's sides nothing is drawn but the terminal and pipes, as a share of the way from
/// its centre.
const INSIDE: f64 = 0.7;

/// The stretches of a side that are examined, as shares of it. A pipe covers half of a hexagon's side.
#[must_use]
pub fn stretches(lattice: Lattice) -> [(f64, f64); 2] {
    match lattice {
        Lattice::Square => [(0.08, 0.27), (0.73, 0.92)],
        Lattice::Hex => [(0.06, 0.22), (0.78, 0.94)],
    }
}

/// Where in a cell no line is: stretches beside its terminal and its pipes.
#[must_use]
pub fn blanks(grid: &Grid, cell: Cell, polarity: Polarity) -> Vec<StretchPlace> {
    let [x, y] = grid.centre_of(cell);
    let places = match grid.lattice {
        Lattice::Square => {
            // Halfway between a side and the middle of the cell.
            let (off, reach) = (0.29 * grid.cell, 0.5 * grid.cell);
            vec![
                StretchPlace::along(
                    Orientation::Horizontal,
                    y - off,
                    (x - reach, x + reach),
                    polarity,
                ),
                StretchPlace::along(
                    Orientation::Vertical,
                    x - off,
                    (y - reach, y + reach),
                    polarity,
                ),
            ]
        }
        Lattice::Hex => {
            let inwards = |[px, py]: Point| [x + INSIDE * (px - x), y + INSIDE * (py - y)];
            let ways = [0, 1, 5].map(Direction).into_iter();
            ways.map(|way| place(grid, cell, way, false, polarity))
                .map(|place| StretchPlace {
                    from: inwards(place.from),
                    to: inwards(place.to),
                    ..place
                })
                .collect()
        }
    };
    let parts = |place: StretchPlace| stretches(grid.lattice).map(|share| place.part(share));
    places.into_iter().flat_map(parts).collect()
}

/// Where a side of a cell lies.
#[must_use]
pub fn place(
    grid: &Grid,
    cell: Cell,
    direction: Direction,
    is_border: bool,
    polarity: Polarity,
) -> StretchPlace {
    let (from, to, before) = ends(grid, cell, direction);
    let outside = match (is_border, before) {
        (false, _) => OuterSide::Neither,
        (true, true) => OuterSide::Before,
        (true, false) => OuterSide::After,
    };
    StretchPlace {
        from,
        to,
        outside,
        polarity,
    }
}

/// The ends of a side, and whether what lies beyond it lies before it.
fn ends(grid: &Grid, cell: Cell, direction: Direction) -> (Point, Point, bool) {
    let (row, col) = (cell / grid.cols(), cell % grid.cols());
    match grid.lattice {
        Lattice::Square => {
            let (left, right) = (grid.xs[col], grid.xs[col + 1]);
            let (top, bottom) = (grid.ys[row], grid.ys[row + 1]);
            match direction.0 {
                0 => ([left, top], [right, top], true),
                1 => ([right, top], [right, bottom], false),
                2 => ([left, bottom], [right, bottom], false),
                _ => ([left, top], [left, bottom], true),
            }
        }
        Lattice::Hex => {
            let (x, y) = grid.centre(row, col);
            let [width, height] = [
                grid.xs[col + 1] - grid.xs[col],
                grid.ys[row + 1] - grid.ys[row],
            ];
            let corners = corners(Lattice::Hex);
            let way = usize::from(direction.0) % corners.len();
            let at = |corner: usize| {
                let [dx, dy] = corners[corner % corners.len()];
                [x + dx * width, y + dy * height]
            };
            // Corners go clockwise: beyond the side is to the left of who walks along it.
            let (from, to) = (at(way), at(way + 1));
            if from[1] == to[1] && from[0] > to[0] {
                (to, from, false)
            } else {
                (from, to, true)
            }
        }
    }
}
