//! Grids whose outermost lines lie at the picture's edge, which may cut them in half or off.

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::numerics::regression;

/// A border line lies at the picture's edge if its middle is at most this far from it: in cells, in pixels, and no more
/// than this in cells where that is less.
const REACH: (f64, f64, f64) = (0.03, 3.0, 0.08);

/// A grid with borders at the picture's edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeGrid {
    /// With the lines that the edge cuts off. Those at the edge are where the others place them, up to some pixels
    /// outside of the picture.
    pub grid: Grid,
    /// Which borders are at the picture's edge.
    pub at_edge: Vec<Border>,
}

impl EdgeGrid {
    /// A grid of squares as it is if the picture's edge is a border of it. `None` where no border is near the edge.
    /// `size`: the picture's width and height, in pixels.
    #[must_use]
    pub fn find(grid: &Grid, size: [f64; 2]) -> Option<Self> {
        let (xs, across) = extended(&grid.xs, size[0], grid.cell)?;
        let (ys, down) = extended(&grid.ys, size[1], grid.cell)?;
        let at_edge = [
            (Border::Upper, down[0]),
            (Border::Right, across[1]),
            (Border::Lower, down[1]),
            (Border::Left, across[0]),
        ];
        let at_edge: Vec<Border> = at_edge
            .into_iter()
            .filter_map(|(border, is_near)| is_near.then_some(border))
            .collect();
        (!at_edge.is_empty()).then(|| Self {
            grid: Grid::squares(xs, ys, grid.cell),
            at_edge,
        })
    }
}

/// Lines in one direction with those at the picture's edges, and whether the first and the last one are there.
/// `size`: of the picture, across the lines.
fn extended(lines: &[f64], size: f64, cell: f64) -> Option<(Vec<f64>, [bool; 2])> {
    let reach = (REACH.0 * cell).max(REACH.1.min(REACH.2 * cell));
    let is_near = |at: f64| at.abs() <= reach || (at - size).abs() <= reach;
    // Of a line that is cut only a part is seen: the others place it.
    let whole = lines.iter().enumerate().filter(|(_, at)| !is_near(**at));
    let points = whole.map(|(index, at)| (index as f64, *at, 1.0));
    let (start, step) = regression::line(points)?;
    let place = |index: f64| start + index * step;
    let mut placed: Vec<f64> = lines.to_vec();
    let last = lines.len() - 1;
    for index in [0, last] {
        if is_near(placed[index]) {
            placed[index] = place(index as f64);
        }
    }
    let (before, after) = (place(-1.0), place(last as f64 + 1.0));
    if is_near(before) && !is_near(placed[0]) {
        placed.insert(0, before);
    }
    if is_near(after) && !is_near(placed[placed.len() - 1]) {
        placed.push(after);
    }
    let ends = [placed[0].abs(), (placed[placed.len() - 1] - size).abs()];
    Some((placed, ends.map(|off| off <= reach)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(start: f64, count: u32) -> Vec<f64> {
        (0..count)
            .map(|line| start + 100.0 * f64::from(line))
            .collect()
    }

    #[test]
    fn lines_that_are_cut_off_are_placed_by_the_others() {
        // The first vertical line is lost, of the last one a half is seen.
        let mut xs = lines(98.0, 5);
        xs[4] = 496.5;
        let grid = Grid::squares(xs, lines(50.0, 6), 100.0);
        let found = EdgeGrid::find(&grid, [497.5, 900.0]).unwrap();
        assert_eq!(found.at_edge, [Border::Right, Border::Left]);
        assert_eq!((found.grid.rows(), found.grid.cols()), (5, 5));
        let off = |at: f64, place: f64| (at - place).abs() < 0.01;
        assert!(off(found.grid.xs[0], -2.0) && off(found.grid.xs[5], 498.0));
    }

    #[test]
    fn boards_with_room_around_them_are_none() {
        let grid = Grid::squares(lines(50.0, 6), lines(50.0, 6), 100.0);
        assert_eq!(EdgeGrid::find(&grid, [600.0, 600.0]), None);
        // The picture ends in the middle of the next cell.
        assert_eq!(EdgeGrid::find(&grid, [600.0, 550.0 + 50.0]), None);
        assert!(EdgeGrid::find(&grid, [600.0, 551.0]).is_some());
    }
}
