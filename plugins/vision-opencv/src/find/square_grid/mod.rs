//! Finds grids of squares: evenly spaced lines in both directions.
//!
//! Distances between neighbouring lines vote for the cell size (`pitch`). Lines at one distance form rows (`rows`).
//! Connected closed cells form a candidate (`blocks`), which is shortened to where its own lines end (`shortening`).

mod blocks;
mod pitch;
mod rows;
mod shortening;

use crate::config::Config;
use crate::find::grid::Grid;
use crate::find::lines::segment::Segment;
use crate::find::square_grid::blocks::blocks;
use crate::find::square_grid::pitch::pitches;
use crate::find::square_grid::rows::Rows;
use crate::find::square_grid::shortening::shortened;
/// Lines that are compared to find their distances.
const MOST_LINES: usize = 500;
/// Grids that are searched again.
const MOST_REFINED: usize = 6;
/// How far from a grid's line a line is that is on it, in cells.
const ON_LINE: f64 = 0.06;

/// The grids that lines may be of, those with the most cells first.
#[must_use]
pub fn find(vertical: &[Segment], horizontal: &[Segment], config: &Config) -> Vec<Grid> {
    let (vertical, horizontal) = (longest(vertical), longest(horizontal));
    let mut grids = grids(&vertical, &horizontal, config);
    grids.sort_by_key(|(cells, _)| std::cmp::Reverse(*cells));
    // Of two boards with cells of nearly one size, the larger one's lines are taken for the other one's: what
    // lies at the same height, or in the same columns, is searched again alone.
    for (cells, grid) in grids.iter_mut().take(MOST_REFINED) {
        let near = |runs: &[Segment], axis: usize| -> Vec<Segment> {
            let is_near = |run: &&Segment| is_beside(run, grid, axis);
            runs.iter().filter(is_near).copied().collect()
        };
        let (beside, above) = (near(&vertical, 0), near(&horizontal, 1));
        if beside.len() == vertical.len() && above.len() == horizontal.len() {
            continue;
        }
        let refined = self::grids(&beside, &above, config).into_iter();
        if let Some(best) = refined.max_by_key(|(cells, _)| *cells)
            && best.0 >= *cells
        {
            (*cells, *grid) = best;
        }
    }
    if let Some((_, largest)) = grids.iter().max_by_key(|(cells, _)| *cells) {
        // And what lies beside the largest one, without the lines that go on into it. Where that is too large to be a
        // board it is a texture, and a board may lie on it.
        let is_texture = largest.rows().max(largest.cols()) > config.max_cells;
        let rest = |runs: &[Segment], axis: usize| -> Vec<Segment> {
            let others = runs
                .iter()
                .filter(|run| !is_texture || !is_line(run, largest, axis));
            let parts = others.flat_map(|run| match is_texture {
                true => vec![*run],
                false => outside(run, largest, axis),
            });
            parts.collect()
        };
        let others = self::grids(&rest(&vertical, 0), &rest(&horizontal, 1), config);
        grids.extend(others);
    }
    let parts = grids.iter().take(MOST_REFINED).filter_map(|(_, grid)| {
        let part = shortened(grid, &vertical, &horizontal, config.min_cells)?;
        Some((part.rows() * part.cols(), part))
    });
    let parts: Vec<_> = parts.collect();
    grids.extend(parts);
    let area = |grid: &Grid| grid.bounds()[2] * grid.bounds()[3];
    grids.sort_by(|(a, b), (c, d)| c.cmp(a).then(area(d).total_cmp(&area(b))));
    let mut distinct: Vec<(usize, Grid)> = Vec::new();
    for (cells, grid) in grids {
        let is_known =
            |other: &(usize, Grid)| same(&other.1, &grid) || is_finer(other, &(cells, &grid));
        if !distinct.iter().any(is_known) {
            distinct.push((cells, grid));
        }
    }
    distinct.into_iter().map(|(_, grid)| grid).collect()
}

/// Whether the first grid has all lines of the second one, and others between.
fn is_finer((cells, fine): &(usize, Grid), (others, coarse): &(usize, &Grid)) -> bool {
    let times = (coarse.cell / fine.cell).round();
    let is_whole = (coarse.cell - times * fine.cell).abs() <= 0.03 * coarse.cell;
    let within = |axis: usize| {
        let (a, b) = (fine.bounds(), coarse.bounds());
        let most = 0.5 * fine.cell;
        a[axis] <= b[axis] + most && a[axis] + a[axis + 2] >= b[axis] + b[axis + 2] - most
    };
    let enough = 0.8 * times * times * *others as f64;
    times >= 2.0 && is_whole && within(0) && within(1) && *cells as f64 >= enough
}

/// The grids of all distances, with how many cells they have.
fn grids(vertical: &[Segment], horizontal: &[Segment], config: &Config) -> Vec<(usize, Grid)> {
    let mut grids = Vec::new();
    for pitch in pitches(vertical, horizontal, f64::from(config.min_cell_pixels)) {
        let (columns, rows) = (Rows::all(vertical, pitch), Rows::all(horizontal, pitch));
        for columns in &columns {
            for rows in &rows {
                // Cells are squares; each step is known to a fraction of a pixel.
                let step = f64::midpoint(columns.step, rows.step);
                if (columns.step - rows.step).abs() <= 0.04 * step + 0.5 {
                    grids.extend(blocks(columns, rows, config));
                }
            }
        }
    }
    grids
}

/// Whether a line lies beside a grid's lines, for the most part. `axis`: 0 for vertical ones.
fn is_beside(run: &Segment, grid: &Grid, axis: usize) -> bool {
    let bounds = grid.bounds();
    let (first, last) = (bounds[1 - axis], bounds[1 - axis] + bounds[3 - axis]);
    let around = 0.6 * grid.cell;
    let shared = run.to.min(last + around) - run.from.max(first - around);
    2.0 * shared > run.length()
}

/// Whether a line lies on one of a grid's. `axis`: 0 for vertical ones.
fn is_line(run: &Segment, grid: &Grid, axis: usize) -> bool {
    let lines = if axis == 0 { &grid.xs } else { &grid.ys };
    let near = |line: &f64| (run.at - line).abs() <= ON_LINE * grid.cell;
    lines.iter().any(near)
}

/// What of a line lies outside of a grid. `axis`: 0 for vertical ones.
fn outside(run: &Segment, grid: &Grid, axis: usize) -> Vec<Segment> {
    let bounds = grid.bounds();
    let around = 0.2 * grid.cell;
    let range = |axis: usize| {
        (
            bounds[axis] - around,
            bounds[axis] + bounds[axis + 2] + around,
        )
    };
    let ((first, last), (start, end)) = (range(axis), range(1 - axis));
    if !(first..=last).contains(&run.at) {
        return vec![*run];
    }
    let before = Segment {
        to: run.to.min(start),
        ..*run
    };
    let after = Segment {
        from: run.from.max(end),
        ..*run
    };
    let is_left = |part: &Segment| part.length() > 0.0;
    [before, after].into_iter().filter(is_left).collect()
}

fn same(a: &Grid, b: &Grid) -> bool {
    let size = |grid: &Grid| (grid.rows(), grid.cols());
    let near = |(a, b): (f64, f64)| (a - b).abs() < 2.0;
    size(a) == size(b) && a.bounds().into_iter().zip(b.bounds()).all(near)
}

/// The longest lines, as they lie side by side: of a page of text not every stroke is examined.
fn longest(runs: &[Segment]) -> Vec<Segment> {
    let mut longest = runs.to_vec();
    if longest.len() > MOST_LINES {
        longest.sort_by(|a, b| b.length().total_cmp(&a.length()));
        longest.truncate(MOST_LINES);
        longest.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(start: f64, step: f64, count: usize, from: f64, to: f64) -> Vec<Segment> {
        (0..count)
            .map(|index| Segment::sample(start + step * index as f64, from, to))
            .collect()
    }

    fn sizes(vertical: &[Segment], horizontal: &[Segment]) -> Vec<(usize, usize)> {
        let grids = find(vertical, horizontal, &Config::default());
        grids
            .iter()
            .map(|grid| (grid.rows(), grid.cols()))
            .collect()
    }

    #[test]
    fn a_grid_is_found_among_other_lines() {
        let mut vertical = lines(101.0, 50.25, 8, 200.0, 502.0);
        vertical.extend([
            Segment::sample(20.0, 0.0, 900.0),
            Segment::sample(330.0, 20.0, 60.0),
            Segment::sample(130.0, 210.0, 230.0),
        ]);
        vertical.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut horizontal = lines(200.0, 50.25, 7, 101.0, 452.0);
        horizontal.push(Segment::sample(700.0, 0.0, 900.0));
        assert_eq!(sizes(&vertical, &horizontal).first(), Some(&(6, 7)));
        // One in the middle is lost.
        horizontal.remove(3);
        assert_eq!(sizes(&vertical, &horizontal).first(), Some(&(6, 7)));
        // Lines that do not cross make none.
        assert_eq!(sizes(&vertical, &lines(600.0, 50.0, 7, 101.0, 452.0)), []);
        assert_eq!(sizes(&[], &[]), []);
    }

    #[test]
    fn an_irregular_outline_is_bounded() {
        // A cross of five by five with arms one cell wide.
        let vertical = [
            Segment::sample(0.0, 100.0, 150.0),
            Segment::sample(50.0, 100.0, 150.0),
            Segment::sample(100.0, 0.0, 250.0),
            Segment::sample(150.0, 0.0, 250.0),
            Segment::sample(200.0, 100.0, 150.0),
            Segment::sample(250.0, 100.0, 150.0),
        ];
        assert_eq!(sizes(&vertical, &vertical), [(5, 5)]);
    }
}
