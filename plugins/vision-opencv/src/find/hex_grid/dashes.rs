//! Dashes: the horizontal sides of hexagons.
//!
//! A dash is a short line, two thirds as long as the distance between columns.

use std::ops::RangeInclusive;

use crate::find::grid::Grid;
use crate::find::hex_grid::AROUND;
use crate::find::lines::segment::Segment;
use crate::numerics::regression;

/// The height of a regular hexagon and the distance of columns, by the length of a side.
pub(super) const HEIGHT: f64 = 1.732_050_807_568_877_2;

pub(super) const COLUMN: f64 = 1.5;

/// Heights that are looked into, the most frequent first.
const MOST_HEIGHTS: usize = 3;

/// Fewer horizontal sides are no board.
pub(super) const FEWEST_DASHES: usize = 8;

/// How far one horizontal side is looked for from another one, in columns and half rows: over some that are not seen.
const REACH: (i32, i32) = (4, 8);

/// The greatest difference in height between two stubs of one line, in pixels.
const SAME: f64 = 1.0;

/// What is left of a side on each side of a pipe, as a share of it.
const STUBS: RangeInclusive<f64> = 0.15..=0.35;

fn middle(run: &Segment) -> f64 {
    f64::midpoint(run.from, run.to)
}

/// The lines, and those that two stubs make which a pipe parts: it covers half of a hexagon's side.
pub(super) fn mended(horizontal: &[Segment]) -> Vec<Segment> {
    let mut mended = horizontal.to_vec();
    for (index, run) in horizontal.iter().enumerate() {
        let beside = horizontal[index + 1..].iter();
        for other in beside.take_while(|other| other.at - run.at <= SAME) {
            let (left, right) = match run.from < other.from {
                true => (run, other),
                false => (other, run),
            };
            let whole = Segment {
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
pub(super) fn heights(horizontal: &[Segment], stride: f64) -> Vec<f64> {
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
pub(super) struct Dashes {
    height: f64,
    /// With their columns and half rows, from any one of them.
    pub(super) members: Vec<(i32, i32, Segment)>,
}

impl Dashes {
    /// All that are of hexagons of a height.
    pub(super) fn all(horizontal: &[Segment], height: f64, stride: f64) -> Vec<Self> {
        let side = height / HEIGHT;
        let is_side = |run: &&Segment| (run.length() - side).abs() <= 0.35 * side + 1.5 * stride;
        let runs: Vec<Segment> = horizontal.iter().filter(is_side).copied().collect();
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
    pub(super) fn fit(&self) -> Option<Fit> {
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

    fn range(&self, index: impl Fn(&(i32, i32, Segment)) -> i32) -> (i32, i32) {
        let indices = || self.members.iter().map(&index);
        (indices().min().unwrap_or(0), indices().max().unwrap_or(0))
    }
}

/// Where the first horizontal side lies, and the steps from column to column and half row to half row.
pub(super) struct Fit {
    left: f64,
    column: f64,
    top: f64,
    half: f64,
}

impl Fit {
    /// The cells about some horizontal sides, and some more to every side.
    pub(super) fn grid(&self, dashes: &Dashes) -> Grid {
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
