//! Shortens grids that are too large: lines beside a board may look like more of its columns or rows.

use crate::find::grid::Grid;
use crate::find::lines::segment::Segment;

/// How far from a grid's line a line is that is on it, and how far from each other the ends of its lines are, in cells.
const NEAR: f64 = 0.12;
/// The share of a grid's lines that end together.
const TOGETHER: f64 = 0.8;

/// The part of a grid at whose borders its own long lines end, all together. `None` where that is all of it, or where
/// they end anywhere.
#[must_use]
pub fn shortened(
    grid: &Grid,
    vertical: &[Segment],
    horizontal: &[Segment],
    least_cells: usize,
) -> Option<Grid> {
    let columns = range(&grid.xs, &grid.ys, horizontal, grid.cell)?;
    let rows = range(&grid.ys, &grid.xs, vertical, grid.cell)?;
    let all = (0, grid.xs.len() - 1, 0, grid.ys.len() - 1);
    let part = (columns.0, columns.1, rows.0, rows.1);
    let enough = |(first, last): (usize, usize)| last >= first + least_cells;
    (part != all && enough(columns) && enough(rows)).then(|| {
        let xs = grid.xs[columns.0..=columns.1].to_vec();
        let ys = grid.ys[rows.0..=rows.1].to_vec();
        Grid::squares(xs, ys, grid.cell)
    })
}

/// The first and the last of `ends` between which the lines at `places` run.
fn range(ends: &[f64], places: &[f64], runs: &[Segment], cell: f64) -> Option<(usize, usize)> {
    let (first, last) = (*ends.first()?, *ends.last()?);
    let longest = |place: &f64| {
        let on_it = runs
            .iter()
            .filter(|run| (run.at - place).abs() <= NEAR * cell)
            .filter(|run| 2.0 * run.length() > last - first);
        on_it.max_by(|a, b| a.length().total_cmp(&b.length()))
    };
    let lines: Vec<&Segment> = places.iter().filter_map(longest).collect();
    let at = |end: fn(&Segment) -> f64| {
        let near = |place: f64| {
            let is_near = |run: &&&Segment| (end(run) - place).abs() <= NEAR * cell;
            lines.iter().filter(is_near).count()
        };
        let counts = ends.iter().map(|&place| near(place)).enumerate();
        let (index, count) = counts.max_by_key(|(_, count)| *count)?;
        (count as f64 >= TOGETHER * places.len() as f64).then_some(index)
    };
    // Lines without a common end do not determine that border.
    let from = at(|run| run.from).unwrap_or(0);
    let to = at(|run| run.to).unwrap_or(ends.len() - 1);
    (from < to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_ends_where_its_lines_end() {
        let lines = |count: u32| (0..count).map(|line| 100.0 * f64::from(line)).collect();
        let grid = Grid::squares(lines(9), lines(7), 100.0);
        let horizontal: Vec<Segment> = (0..7)
            .map(|row| Segment::sample(100.0 * f64::from(row), 1.0, 601.0))
            .collect();
        let vertical: Vec<Segment> = (0..9)
            .map(|col| Segment::sample(100.0 * f64::from(col), 0.0, 599.0))
            .collect();
        let part = shortened(&grid, &vertical, &horizontal, 4).unwrap();
        assert_eq!((part.rows(), part.cols()), (6, 6));
        // Nothing to shorten, and lines that end anywhere.
        assert!(shortened(&part, &vertical, &horizontal, 4).is_none());
        let ragged: Vec<Segment> = (0..7)
            .map(|row| Segment::sample(100.0 * f64::from(row), 0.0, 500.0 + 40.0 * f64::from(row)))
            .collect();
        assert!(shortened(&grid, &vertical, &ragged, 4).is_none());
    }
}
