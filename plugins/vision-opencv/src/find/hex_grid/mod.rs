//! Boards of hexagons: the lattices that the horizontal sides of flat-topped hexagons make.
//!
//! These sides are short lines, all as long as two thirds of the distance from column to column. Each has another
//! one a whole row below, and one half a row lower in each column beside it: those that hang together so are of one
//! board. Their heights are known to a part of a pixel; where the columns are, which are sampled, is measured
//! at the sides aslant between.
//!
//! Where such a board lies on its side its horizontal sides are vertical: it is looked for in the picture turned
//! clockwise, and its cells are named as they are seen there. The corners give their places in the picture.

use std::ops::RangeInclusive;

use flowpipe_plugin::puzzle::Direction;

use crate::find::cell_side;
use crate::find::grid::Grid;
use crate::find::lines::segment::Run;
use crate::find::profile::Place;
use crate::numerics::regression;
use crate::picture::Picture;
use crate::picture::polarity::Ink;

/// The height of a regular hexagon and the distance of columns, by the length of a side.
const HEIGHT: f64 = 1.732_050_807_568_877_2;
const COLUMN: f64 = 1.5;

/// Rows and columns that a grid has more than were seen, on every side.
pub const AROUND: usize = 2;

/// The number of short lines from which on a picture is a page of text.
const MOST_DASHES: usize = 8000;
/// Heights that are looked into, the most frequent first.
const MOST_HEIGHTS: usize = 3;
/// Fewer horizontal sides are no board.
const FEWEST_DASHES: usize = 8;
/// How far one horizontal side is looked for from another one, in columns and half rows: over some that are not seen.
const REACH: (i32, i32) = (4, 8);
/// Two stubs of one line are at one height, to so many pixels.
const SAME: f64 = 1.0;
/// What is left of a side on each side of a pipe, as a share of it.
const STUBS: RangeInclusive<f64> = 0.15..=0.35;
/// Sides that are measured for each line between columns.
const MOST_MEASURED: usize = 12;

/// The grids of hexagons that horizontal lines may be sides of, those with the most sides first, to a pixel or two.
/// Each has [`AROUND`] columns and rows more on every side than were seen. `stride`: pixels from one sampled column to
/// the next.
#[must_use]
pub fn find(horizontal: &[Run], stride: usize) -> Vec<Grid> {
    if horizontal.len() < FEWEST_DASHES || horizontal.len() > MOST_DASHES {
        return Vec::new();
    }
    let stride = stride as f64;
    let horizontal = &mended(horizontal);
    let mut found: Vec<(usize, Grid)> = Vec::new();
    for height in heights(horizontal, stride) {
        for dashes in Dashes::all(horizontal, height, stride) {
            if let Some(fit) = dashes.fit() {
                found.push((dashes.members.len(), fit.grid(&dashes)));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    // To place one costs more than all else here.
    distinct(found.into_iter().map(|(_, grid)| grid))
}

/// Grids of hexagons with their columns where they are seen in the picture, each one once.
#[must_use]
pub fn placed(grids: Vec<Grid>, picture: &Picture<'_>, ink: Ink) -> Vec<Grid> {
    let refined = grids.into_iter().map(|grid| grid.refined(picture, ink));
    distinct(refined)
}

/// Those that are not the same as one before.
fn distinct(grids: impl Iterator<Item = Grid>) -> Vec<Grid> {
    let mut distinct: Vec<Grid> = Vec::new();
    for grid in grids {
        if !distinct.iter().any(|other| same(other, &grid)) {
            distinct.push(grid);
        }
    }
    distinct
}

fn same(a: &Grid, b: &Grid) -> bool {
    let near = |(a, b): (f64, f64)| (a - b).abs() < 2.0;
    a.bounds().into_iter().zip(b.bounds()).all(near)
}

fn middle(run: &Run) -> f64 {
    f64::midpoint(run.from, run.to)
}

/// The lines, and those that two stubs make which a pipe parts: it covers half of a hexagon's side.
fn mended(horizontal: &[Run]) -> Vec<Run> {
    let mut mended = horizontal.to_vec();
    for (index, run) in horizontal.iter().enumerate() {
        let beside = horizontal[index + 1..].iter();
        for other in beside.take_while(|other| other.at - run.at <= SAME) {
            let (left, right) = match run.from < other.from {
                true => (run, other),
                false => (other, run),
            };
            let whole = Run {
                at: f64::midpoint(left.at, right.at),
                from: left.from,
                to: right.to,
                ..*run
            };
            let stubs = [left, right].map(|stub| stub.length() / whole.length());
            if stubs.iter().all(|stub| STUBS.contains(stub)) {
                mended.push(whole);
            }
        }
    }
    mended.sort_by(|a, b| a.at.total_cmp(&b.at));
    mended
}

/// All steps from a horizontal side to others, in columns and half rows: both are even, or both odd.
fn steps() -> impl Iterator<Item = (i32, i32)> {
    let (cols, rows) = REACH;
    let all = (-cols..=cols).flat_map(move |col| (-rows..=rows).map(move |row| (col, row)));
    all.filter(|(col, row)| (col + row) % 2 == 0)
}

/// The distances that lines have most often from those of their length right below them, where these are a
/// hexagon's height.
fn heights(horizontal: &[Run], stride: f64) -> Vec<f64> {
    let mut votes = Vec::new();
    for (index, run) in horizontal.iter().enumerate() {
        let length = run.length();
        let range = 0.75 * HEIGHT * (length - stride)..=1.25 * HEIGHT * (length + stride);
        let (aside, longer) = (0.12 * length + stride, 0.3 * length + 2.0 * stride);
        for other in &horizontal[index + 1..] {
            let distance = other.at - run.at;
            if distance > *range.end() {
                break;
            }
            let fits = range.contains(&distance)
                && (middle(other) - middle(run)).abs() <= aside
                && (other.length() - length).abs() <= longer;
            if fits {
                votes.push(distance);
            }
        }
    }
    votes.sort_by(f64::total_cmp);
    let mut scored: Vec<(usize, f64)> = Vec::new();
    let mut first = 0;
    for (last, &distance) in votes.iter().enumerate() {
        let reach = 0.02 * distance + 1.0;
        while votes[first] < distance - reach {
            first += 1;
        }
        let window = &votes[first..=last];
        scored.push((window.len(), window[window.len() / 2]));
    }
    scored.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    let mut heights: Vec<f64> = Vec::new();
    for (count, height) in scored {
        if count < FEWEST_DASHES / 2 || heights.len() == MOST_HEIGHTS {
            break;
        }
        let near = |other: &f64| (other - height).abs() <= 0.04 * height + 2.0;
        if !heights.iter().any(near) {
            heights.push(height);
        }
    }
    heights
}

/// Horizontal sides of hexagons that hang together.
struct Dashes {
    height: f64,
    /// With their columns and half rows, from any one of them.
    members: Vec<(i32, i32, Run)>,
}

impl Dashes {
    /// All that are of hexagons of a height.
    fn all(horizontal: &[Run], height: f64, stride: f64) -> Vec<Self> {
        let side = height / HEIGHT;
        let is_side = |run: &&Run| (run.length() - side).abs() <= 0.35 * side + 1.5 * stride;
        let runs: Vec<Run> = horizontal.iter().filter(is_side).copied().collect();
        let mut is_free = vec![true; runs.len()];
        let (across, down) = (0.12 * side * COLUMN + stride, 0.04 * height + 0.75);
        let mut all = Vec::new();
        for first in 0..runs.len() {
            if !is_free[first] {
                continue;
            }
            is_free[first] = false;
            let mut members = vec![(0, 0, runs[first])];
            let mut next = 0;
            while let Some(&(col, row, run)) = members.get(next) {
                next += 1;
                for (cols, rows) in steps() {
                    let x = middle(&run) + f64::from(cols) * side * COLUMN;
                    let y = run.at + f64::from(rows) * height / 2.0;
                    let from = runs.partition_point(|other| other.at < y - down);
                    let beside = runs[from..].iter().take_while(|other| other.at <= y + down);
                    for (index, other) in beside.enumerate() {
                        let index = from + index;
                        if is_free[index] && (middle(other) - x).abs() <= across {
                            is_free[index] = false;
                            members.push((col + cols, row + rows, *other));
                        }
                    }
                }
            }
            if members.len() >= FEWEST_DASHES {
                all.push(Self { height, members });
            }
        }
        all
    }

    /// Where they lie by least squares. `None` where they make no regular hexagons.
    fn fit(&self) -> Option<Fit> {
        let members = self.members.iter();
        let columns = members.clone();
        let (left, column) =
            regression::line(columns.map(|(col, _, run)| (f64::from(*col), middle(run), 1.0)))?;
        let (top, half) =
            regression::line(members.map(|(_, row, run)| (f64::from(*row), run.at, 1.0)))?;
        let regular = 2.0 * half / HEIGHT * COLUMN;
        let fits = (2.0 * half - self.height).abs() <= 0.05 * self.height
            && (column - regular).abs() <= 0.05 * regular;
        fits.then_some(Fit {
            left,
            column,
            top,
            half,
        })
    }

    fn range(&self, index: impl Fn(&(i32, i32, Run)) -> i32) -> (i32, i32) {
        let indices = || self.members.iter().map(&index);
        (indices().min().unwrap_or(0), indices().max().unwrap_or(0))
    }
}

/// Where the first horizontal side lies, and the steps from column to column and half row to half row.
struct Fit {
    left: f64,
    column: f64,
    top: f64,
    half: f64,
}

impl Fit {
    /// The cells about some horizontal sides, and some more to every side.
    fn grid(&self, dashes: &Dashes) -> Grid {
        let (left, right) = dashes.range(|(col, _, _)| *col);
        let (top, bottom) = dashes.range(|(_, row, _)| *row);
        let around = AROUND as i32;
        let (left, right) = (left - around, right + around);
        // Column and half row are both even or both odd; the first column's cells lie half a row below the lines.
        let top = top - 2 * around;
        let top = top - (top + 1 - left).rem_euclid(2);
        let rows = (bottom + 2 * around - top + 1) / 2;
        let x = |line: i32| self.left + (f64::from(left + line) - 0.5) * self.column;
        let y = |line: i32| self.top + f64::from(top + 2 * line) * self.half;
        Grid::hexes(
            (0..=right + 1 - left).map(x).collect(),
            (0..=rows).map(y).collect(),
        )
    }
}

impl Grid {
    /// The same with its columns where the sides aslant between them are.
    fn refined(self, picture: &Picture<'_>, ink: Ink) -> Self {
        let places = (1..self.cols()).filter_map(|line| {
            let mut shifts: Vec<f64> = self
                .between(line, ink)
                .filter_map(|place| shift(picture, &place, self.cell))
                .collect();
            shifts.sort_by(f64::total_cmp);
            let shift = shifts.get(shifts.len() / 2)?;
            Some((line as f64, self.xs[line] + shift))
        });
        let Some((left, column)) = regression::line(places.map(|(x, y)| (x, y, 1.0))) else {
            return self;
        };
        if (column - self.cell).abs() > 0.05 * self.cell {
            return self;
        }
        let x = |line: usize| left + line as f64 * column;
        Self::hexes((0..self.xs.len()).map(x).collect(), self.ys)
    }

    /// Stretches of sides between two columns, from top to bottom, evenly chosen.
    fn between(&self, line: usize, ink: Ink) -> impl Iterator<Item = Place> + '_ {
        let every = self.rows().div_ceil(MOST_MEASURED / 2);
        (0..self.rows()).step_by(every).flat_map(move |row| {
            let cell = row * self.cols() + line;
            [4, 5].into_iter().flat_map(move |way| {
                let place = cell_side::place(self, cell, Direction(way), false, ink);
                cell_side::stretches(self.lattice).map(|share| place.part(share))
            })
        })
    }
}

/// How far to the right of its place a line aslant is, in pixels. `None` where none is seen.
fn shift(picture: &Picture<'_>, place: &Place, cell: f64) -> Option<f64> {
    let far = (0.14 * cell).ceil().max(4.0) as i32;
    let profile = place.profile(picture, far);
    let colours = (-far..=far).map(|off| profile.at(off));
    let grey = colours.map(|colour| Some(colour?.iter().sum::<f64>() / 3.0));
    let grey = grey.collect::<Option<Vec<f64>>>()?;
    let (first, last) = (grey.first()?, grey.last()?);
    // Tints on both sides may differ.
    let beside = first.max(*last);
    let off = |index: usize| (grey[index] - beside).max(0.0);
    let (sum, moment) = (0..grey.len()).fold((0.0, 0.0), |(sum, moment), index| {
        let far = index as f64 - f64::from(far);
        (sum + off(index), moment + off(index) * far)
    });
    let peak = (0..grey.len()).map(off).fold(0.0, f64::max);
    // To the right of who walks along it, and how much of that is to the right in the picture.
    let [dx, dy] = [place.to[0] - place.from[0], place.to[1] - place.from[1]];
    (peak >= 6.0 && sum <= (0.1 * cell).max(5.0) * peak)
        .then(|| -(moment / sum) * dx.hypot(dy) / dy)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Lattice;

    use super::*;

    /// The horizontal sides of a board of hexagons, 40 pixels wide from column to column.
    fn dashes(rows: usize, cols: usize) -> Vec<Run> {
        let side = 40.0 / COLUMN;
        let height = side * HEIGHT;
        let mut runs = Vec::new();
        for col in 0..cols {
            for row in 0..=rows {
                let lowered = if col % 2 == 0 { 0.5 } else { 0.0 };
                let middle = 100.0 + 40.0 * col as f64;
                runs.push(Run {
                    at: 100.0 + (row as f64 + lowered) * height,
                    from: middle - side / 2.0,
                    to: middle + side / 2.0,
                    width: 2.0,
                    contrast: 50.0,
                });
            }
        }
        runs.sort_by(|a, b| a.at.total_cmp(&b.at));
        runs
    }

    #[test]
    fn a_lattice_is_found_among_other_lines() {
        let mut horizontal = dashes(4, 5);
        // One is lost, one is parted by a pipe, and there are others.
        horizontal.remove(7);
        let parted = horizontal.remove(9);
        for (from, to) in [(0.0, 0.25), (0.75, 1.0)] {
            horizontal.push(Run {
                from: parted.from + from * parted.length(),
                to: parted.from + to * parted.length(),
                ..parted
            });
        }
        for at in [20.0, 333.0, 500.0] {
            horizontal.push(Run {
                at,
                from: 0.0,
                to: 30.0,
                ..parted
            });
        }
        horizontal.sort_by(|a, b| a.at.total_cmp(&b.at));
        let grids = find(&horizontal, 2);
        let grid = grids.first().unwrap();
        let middle = |x: f64, y: f64| {
            (0..grid.len()).any(|cell| {
                let [cell_x, cell_y] = grid.centre_of(cell);
                (cell_x - x).hypot(cell_y - y) < 0.5
            })
        };
        let height = 40.0 / COLUMN * HEIGHT;
        assert!(middle(100.0, 100.0 + height));
        assert!(middle(140.0, 100.0 + 0.5 * height));
        assert!(!middle(140.0, 100.0 + height));
        assert_eq!((grid.lattice, grid.cols()), (Lattice::Hex, 9));
    }

    #[test]
    fn lines_of_squares_are_none() {
        let horizontal: Vec<Run> = (0..8)
            .map(|index| Run {
                at: 50.0 * f64::from(index),
                from: 10.0,
                to: 410.0,
                width: 2.0,
                contrast: 50.0,
            })
            .collect();
        assert_eq!(find(&horizontal, 2), []);
        assert_eq!(find(&[], 2), []);
    }
}
