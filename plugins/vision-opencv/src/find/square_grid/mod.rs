//! Evenly spaced lines: the squares that lines in both directions make.

pub mod shortening;

use std::ops::Range;

use crate::config::Config;
use crate::find::grid::Grid;
use crate::find::lines::segment::Run;
use crate::find::square_grid::shortening::shortened;
use crate::numerics::regression;

/// Distances from line to line that are looked into, the most frequent first.
const MOST_PITCHES: usize = 5;
/// Lines that are compared to find their distances.
const MOST_LINES: usize = 500;
/// Lines beside one that it is compared with.
const NEIGHBOURS: usize = 6;
/// Grids that are searched again.
const MOST_REFINED: usize = 6;
/// Sets of lines at one distance that do not fit together.
const MOST_SETS: usize = 3;
/// Lines that a row of lines may begin with.
const MOST_SEEDS: usize = 48;
/// How far from a grid's line a line is that is on it, in cells.
const ON_LINE: f64 = 0.06;
/// What a line covers of a cell's side, in cells from its ends.
const SIDE: f64 = 0.14;

/// The grids that lines may be of, those with the most cells first.
#[must_use]
pub fn find(vertical: &[Run], horizontal: &[Run], config: &Config) -> Vec<Grid> {
    let (vertical, horizontal) = (longest(vertical), longest(horizontal));
    let mut grids = grids(&vertical, &horizontal, config);
    grids.sort_by_key(|(cells, _)| std::cmp::Reverse(*cells));
    // Of two boards with cells of nearly one size, the larger one's lines are taken for the other one's: what
    // lies at the same height, or in the same columns, is searched again alone.
    for (cells, grid) in grids.iter_mut().take(MOST_REFINED) {
        let near = |runs: &[Run], axis: usize| -> Vec<Run> {
            let is_near = |run: &&Run| is_beside(run, grid, axis);
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
        let rest = |runs: &[Run], axis: usize| -> Vec<Run> {
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
fn grids(vertical: &[Run], horizontal: &[Run], config: &Config) -> Vec<(usize, Grid)> {
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
fn is_beside(run: &Run, grid: &Grid, axis: usize) -> bool {
    let bounds = grid.bounds();
    let (first, last) = (bounds[1 - axis], bounds[1 - axis] + bounds[3 - axis]);
    let around = 0.6 * grid.cell;
    let shared = run.to.min(last + around) - run.from.max(first - around);
    2.0 * shared > run.length()
}

/// Whether a line lies on one of a grid's. `axis`: 0 for vertical ones.
fn is_line(run: &Run, grid: &Grid, axis: usize) -> bool {
    let lines = if axis == 0 { &grid.xs } else { &grid.ys };
    let near = |line: &f64| (run.at - line).abs() <= ON_LINE * grid.cell;
    lines.iter().any(near)
}

/// What of a line lies outside of a grid. `axis`: 0 for vertical ones.
fn outside(run: &Run, grid: &Grid, axis: usize) -> Vec<Run> {
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
    let before = Run {
        to: run.to.min(start),
        ..*run
    };
    let after = Run {
        from: run.from.max(end),
        ..*run
    };
    let is_left = |part: &Run| part.length() > 0.0;
    [before, after].into_iter().filter(is_left).collect()
}

fn same(a: &Grid, b: &Grid) -> bool {
    let size = |grid: &Grid| (grid.rows(), grid.cols());
    let near = |(a, b): (f64, f64)| (a - b).abs() < 2.0;
    size(a) == size(b) && a.bounds().into_iter().zip(b.bounds()).all(near)
}

/// A distance from one line to the next.
struct Vote {
    distance: f64,
    weight: f64,
    vertical: bool,
}

/// The distances that lines in both directions have most often from the lines beside them.
fn pitches(vertical: &[Run], horizontal: &[Run], least: f64) -> Vec<f64> {
    let mut votes = Vec::new();
    for (runs, is_vertical) in [(vertical, true), (horizontal, false)] {
        for (index, run) in runs.iter().enumerate() {
            let mut seen = 0;
            for other in &runs[index + 1..] {
                let distance = other.at - run.at;
                let beside = run.beside(other);
                if distance < least {
                    continue;
                }
                // No line beside is as far away as the lines are long.
                if distance > 1.3 * run.length() || seen == NEIGHBOURS {
                    break;
                }
                if beside >= 0.8 * distance {
                    // The strokes of a text beside a line are short.
                    seen += usize::from(2.0 * beside >= run.length());
                    votes.push(Vote {
                        distance,
                        // Two sides of a letter are as far apart as two lines of a grid, but are no longer than that.
                        weight: (beside / distance).min(20.0) - 0.5,
                        vertical: is_vertical,
                    });
                }
            }
        }
    }
    votes.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    // All votes within a window about each one.
    let mut scored: Vec<(f64, Range<usize>)> = Vec::with_capacity(votes.len());
    let (mut first, mut last) = (0, 0);
    let mut sums = [0.0; 2];
    for vote in &votes {
        let reach = 0.015 * vote.distance + 0.75;
        while votes
            .get(last)
            .is_some_and(|other| other.distance <= vote.distance + reach)
        {
            sums[usize::from(votes[last].vertical)] += votes[last].weight;
            last += 1;
        }
        while votes[first].distance < vote.distance - reach {
            sums[usize::from(votes[first].vertical)] -= votes[first].weight;
            first += 1;
        }
        scored.push((sums[0].min(sums[1]), first..last));
    }
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut pitches: Vec<f64> = Vec::new();
    for (_, window) in scored {
        let window = &votes[window];
        let weight: f64 = window.iter().map(|vote| vote.weight).sum();
        let moment: f64 = window.iter().map(|vote| vote.weight * vote.distance).sum();
        let distance = moment / weight.max(1e-9);
        let near = |other: &f64| (other - distance).abs() <= 0.03 * distance + 1.0;
        if !pitches.iter().any(near) {
            pitches.push(distance);
            if pitches.len() == MOST_PITCHES {
                break;
            }
        }
    }
    pitches
}

/// The longest lines, as they lie side by side: of a page of text not every stroke is examined.
fn longest(runs: &[Run]) -> Vec<Run> {
    let mut longest = runs.to_vec();
    if longest.len() > MOST_LINES {
        longest.sort_by(|a, b| b.length().total_cmp(&a.length()));
        longest.truncate(MOST_LINES);
        longest.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    longest
}

/// Parallel lines at one distance.
struct Rows {
    /// Where the line of index 0 is.
    start: f64,
    step: f64,
    /// With their index from 0.
    lines: Vec<(usize, Run)>,
}

impl Rows {
    /// The largest sets of lines at a distance: two boards may lie beside each other.
    fn all(runs: &[Run], pitch: f64) -> Vec<Self> {
        let mut rest: Vec<Run> = runs
            .iter()
            .filter(|run| run.length() >= 0.7 * pitch && run.width <= (0.15 * pitch).max(4.0))
            .copied()
            .collect();
        let mut sets = Vec::new();
        while sets.len() < MOST_SETS
            && let Some(set) = Self::find(&rest, pitch)
        {
            // They are in the same order.
            let mut lines = set.lines.iter().map(|(_, line)| line).peekable();
            rest.retain(|run| lines.next_if(|line| *line == run).is_none());
            if (set.step - pitch).abs() <= 0.05 * pitch {
                sets.push(set);
            }
        }
        sets
    }

    /// The largest set. `None` where there are no two lines at the distance.
    fn find(runs: &[Run], pitch: f64) -> Option<Self> {
        let mut seeds: Vec<&Run> = runs.iter().collect();
        seeds.sort_by(|a, b| b.length().total_cmp(&a.length()));
        seeds.truncate(MOST_SEEDS);
        let supported = supports(&seeds, runs, pitch).into_iter().zip(&seeds);
        let (_, seed) = supported.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        let (mut start, mut step) = (seed.at, pitch);
        let mut lines: Vec<(i64, Run)> = Vec::new();
        for _ in 0..3 {
            lines = runs
                .iter()
                .filter_map(|run| Some((steps(run.at - start, step)?, *run)))
                .collect();
            // Long lines are placed better than short ones.
            let points = lines.iter();
            (start, step) =
                regression::line(points.map(|(index, run)| (*index as f64, run.at, run.length())))?;
        }
        let first = lines.iter().map(|(index, _)| *index).min()?;
        Some(Self {
            start: start + first as f64 * step,
            step,
            lines: lines
                .into_iter()
                .map(|(index, run)| ((index - first) as usize, run))
                .collect(),
        })
    }

    fn count(&self) -> usize {
        self.lines
            .iter()
            .map(|(index, _)| index + 1)
            .max()
            .unwrap_or(0)
    }

    /// Where the lines of some indices are: where they were seen, the others between.
    fn places(&self, indices: std::ops::RangeInclusive<usize>) -> Vec<f64> {
        let place = |index: usize| {
            let fitted = self.start + index as f64 * self.step;
            let members = || self.lines.iter().filter(|(other, _)| *other == index);
            let weight: f64 = members().map(|(_, run)| run.length()).sum();
            if weight > 0.0 {
                let moment: f64 = members().map(|(_, run)| run.length() * run.at).sum();
                moment / weight
            } else {
                fitted
            }
        };
        indices.map(place).collect()
    }
}

/// How many pixels of lines lie at whole steps from each of some lines.
fn supports(seeds: &[&Run], runs: &[Run], step: f64) -> [f64; MOST_SEEDS] {
    let mut ats = [0.0; MOST_SEEDS];
    for (at, seed) in ats.iter_mut().zip(seeds) {
        *at = seed.at;
    }
    let steps = Steps::of(step);
    let mut sums = [0.0; MOST_SEEDS];
    for run in runs {
        let length = run.length();
        // For several seeds at once.
        for (sum, at) in sums.iter_mut().zip(&ats) {
            let (is_whole, _) = steps.nearest(run.at - at);
            *sum += if is_whole { length } else { 0.0 };
        }
    }
    sums
}

/// How many whole steps a distance is, if it is.
fn steps(distance: f64, step: f64) -> Option<i64> {
    let (is_whole, count) = Steps::of(step).nearest(distance);
    is_whole.then_some(count as i64)
}

/// Steps of one length.
#[derive(Clone, Copy)]
struct Steps {
    step: f64,
    /// How many there are in a pixel.
    rate: f64,
}

impl Steps {
    fn of(step: f64) -> Self {
        Self {
            step,
            rate: 1.0 / step,
        }
    }

    /// Whether a distance is a whole number of steps, and the number next to it.
    #[inline]
    fn nearest(self, distance: f64) -> (bool, f64) {
        // Numbers as large as this have no room for parts: as `round` does, but fast, for this is asked most. Halfway
        // between it does not matter.
        const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
        let whole = (distance * self.rate + WHOLE) - WHOLE;
        // The step is known to a part of a pixel, which adds up.
        let tolerance = 0.035 * self.step + 0.75 + 0.002 * self.step * whole.abs();
        let most = 0.2 * self.step;
        let tolerance = if tolerance < most { tolerance } else { most };
        ((distance - whole * self.step).abs() <= tolerance, whole)
    }
}

/// The grids that closed cells make which hang together, with the number of cells.
fn blocks(columns: &Rows, rows: &Rows, config: &Config) -> Vec<(usize, Grid)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: f64, from: f64, to: f64) -> Run {
        Run {
            at,
            from,
            to,
            width: 2.0,
            contrast: 50.0,
        }
    }

    fn lines(start: f64, step: f64, count: usize, from: f64, to: f64) -> Vec<Run> {
        (0..count)
            .map(|index| run(start + step * index as f64, from, to))
            .collect()
    }

    fn sizes(vertical: &[Run], horizontal: &[Run]) -> Vec<(usize, usize)> {
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
            run(20.0, 0.0, 900.0),
            run(330.0, 20.0, 60.0),
            run(130.0, 210.0, 230.0),
        ]);
        vertical.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut horizontal = lines(200.0, 50.25, 7, 101.0, 452.0);
        horizontal.push(run(700.0, 0.0, 900.0));
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
            run(0.0, 100.0, 150.0),
            run(50.0, 100.0, 150.0),
            run(100.0, 0.0, 250.0),
            run(150.0, 0.0, 250.0),
            run(200.0, 100.0, 150.0),
            run(250.0, 100.0, 150.0),
        ];
        assert_eq!(sizes(&vertical, &vertical), [(5, 5)]);
    }
}
