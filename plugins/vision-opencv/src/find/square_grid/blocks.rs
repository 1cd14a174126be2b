//! Blocks of connected closed cells between lines in both directions.

use std::ops::Range;

use crate::config::Config;
use crate::find::grid::Grid;
use crate::find::square_grid::rows::Rows;

/// What a line covers of a cell's side, in cells from its ends.
const SIDE: f64 = 0.14;

/// The grids that closed cells make which hang together, with the number of cells.
pub(super) fn blocks(columns: &Rows, rows: &Rows, config: &Config) -> Vec<(usize, Grid)> {
    let (across, down) = (columns.count(), rows.count());
    if across < 2 || down < 2 || across * down > 1 << 16 {
        return Vec::new();
    }
    // How many sides of each cell are covered by lines.
    let mut sides = vec![0_u8; (across - 1) * (down - 1)];
    let mut cover = |row: usize, col: usize| {
        if row < down - 1 && col < across - 1 {
            sides[row * (across - 1) + col] += 1;
        }
    };
    for (col, parts) in covered(columns, rows) {
        for row in parts {
            cover(row, col);
            if col > 0 {
                cover(row, col - 1);
            }
        }
    }
    for (row, parts) in covered(rows, columns) {
        for col in parts {
            cover(row, col);
            if row > 0 {
                cover(row - 1, col);
            }
        }
    }
    let mut grids = Vec::new();
    let closed = sides.iter().filter(|count| **count >= 3).count();
    if closed < 2 * config.min_cells - 1 {
        return grids;
    }
    let mut open: Vec<usize> = Vec::new();
    for first in 0..sides.len() {
        if sides[first] < 3 {
            continue;
        }
        let (mut left, mut right, mut top, mut bottom) = (usize::MAX, 0, usize::MAX, 0);
        let mut count = 0;
        open.push(first);
        sides[first] = 0;
        while let Some(cell) = open.pop() {
            let (row, col) = (cell / (across - 1), cell % (across - 1));
            (left, right) = (left.min(col), right.max(col));
            (top, bottom) = (top.min(row), bottom.max(row));
            count += 1;
            let beside = [
                (col > 0).then(|| cell - 1),
                (col + 2 < across).then(|| cell + 1),
                (row > 0).then(|| cell + 1 - across),
                (row + 2 < down).then(|| cell + across - 1),
            ];
            for next in beside.into_iter().flatten() {
                if sides[next] >= 3 {
                    sides[next] = 0;
                    open.push(next);
                }
            }
        }
        let (wide, high) = (right + 1 - left, bottom + 1 - top);
        let least = config.min_cells;
        if wide.min(high) >= least {
            let xs = columns.places(left..=right + 1);
            let ys = rows.places(top..=bottom + 1);
            let cell = f64::midpoint(columns.step, rows.step);
            grids.push((count, Grid::squares(xs, ys, cell)));
        }
    }
    grids
}

/// For each line its index and the sides that it covers, by index between the lines that cross.
fn covered<'a>(
    lines: &'a Rows,
    crossing: &'a Rows,
) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
    lines.lines.iter().map(|&(index, run)| {
        let place = |at: f64| (at - crossing.start) / crossing.step;
        let from = (place(run.from) - SIDE).ceil().max(0.0);
        let to = (place(run.to) + SIDE).floor().max(0.0);
        (index, from as usize..to as usize)
    })
}
