//! Marks: the contrast in a cell, by squares of pixels.

use flowpipe_plugin::puzzle::Point;

use crate::picture::colour::distance;
use crate::picture::{Picture, Rgb};
use crate::read::contents::numbers::glyph::{REACH, SIDE};

/// Marks of a cell's inner part in each direction, at most: one is the mean of several pixels in larger cells.
const MOST: usize = 48;

/// Of the strongest mark, what is weaker than the first share is noise, and what is stronger than the second is
/// full ink.
const INK: [f64; 2] = [0.15, 0.9];

/// What stands out in a cell.
pub(super) struct Marks {
    /// How many levels, row by row.
    pub(super) levels: Vec<f64>,
    side: usize,
    /// The middle of the first one, in frame pixels from the cell's centre.
    first: Point,
    /// Frame pixels from one to the next.
    step: i64,
    /// The strongest one.
    pub(super) most: f64,
    pub(super) colour: Rgb,
}

impl Marks {
    pub(super) fn look(
        picture: &Picture<'_>,
        span: f64,
        centre: Point,
        background: Rgb,
    ) -> Option<Self> {
        let step = ((2.0 * REACH * span / MOST as f64).ceil() as i64).max(1);
        let side = (2.0 * REACH * span / step as f64) as usize;
        // Whole pixels, so that marks are as far from each other as they seem.
        let half = (side as i64 * step) as f64 / 2.0;
        let corner = centre.map(|at| (at - half).round() as i64);
        let mut marks = Self {
            levels: Vec::with_capacity(side * side),
            side,
            first: [0, 1].map(|axis| corner[axis] as f64 + step as f64 / 2.0 - centre[axis]),
            step,
            most: 0.0,
            colour: background,
        };
        let count = (step * step) as u32;
        for index in 0..side * side {
            let at = |axis: usize, index: usize| corner[axis] + index as i64 * step;
            let (x, y) = (at(0, index % side), at(1, index / side));
            let sum = picture.sum_of_square([x, y], step as u32)?;
            let colour = sum.map(|sum| ((sum + count / 2) / count) as u8);
            let level = distance(colour, background);
            if level > marks.most {
                (marks.most, marks.colour) = (level, colour);
            }
            marks.levels.push(level);
        }
        Some(marks)
    }

    /// Takes away what comes from beyond: whatever hangs together with marks on the rim.
    pub(super) fn clear_from_rim(&mut self, least: f64) {
        let side = self.side;
        let is_rim = |index: usize| {
            let (x, y) = (index % side, index / side);
            x == 0 || y == 0 || x + 1 == side || y + 1 == side
        };
        let mut open: Vec<usize> = (0..side * side)
            .filter(|&index| is_rim(index) && self.levels[index] >= least)
            .collect();
        while let Some(index) = open.pop() {
            self.levels[index] = 0.0;
            let (x, y) = (index % side, index / side);
            for (near_x, near_y) in around(x, y, side) {
                let near = near_y * side + near_x;
                if self.levels[near] >= least {
                    self.levels[near] = 0.0;
                    open.push(near);
                }
            }
        }
    }

    /// Left, top, right and bottom of what stands out by a level, in spans from the centre.
    pub(super) fn bounds(&self, least: f64, span: f64) -> Option<[f64; 4]> {
        let strong = (0..self.levels.len()).filter(|&index| self.levels[index] >= least);
        let bounds = strong.fold([usize::MAX, usize::MAX, 0, 0], |[l, t, r, b], index| {
            let (x, y) = (index % self.side, index / self.side);
            [l.min(x), t.min(y), r.max(x + 1), b.max(y + 1)]
        });
        let place = |index: usize| {
            let marks = bounds[index] as f64 - 0.5;
            (self.first[index % 2] + marks * self.step as f64) / span
        };
        (bounds[0] < bounds[2]).then(|| [0, 1, 2, 3].map(place))
    }

    /// How much ink there is about its centre of mass, from 0 to 1. `pitch`: frame pixels from sample to sample.
    pub(super) fn ink(&self, pitch: f64) -> [f32; SIDE * SIDE] {
        let side = self.side;
        let least = INK[0] * self.most;
        let full = (INK[1] - INK[0]) * self.most;
        let marks = self.levels.iter();
        let marks: Vec<f64> = marks
            .map(|level| ((level - least) / full).clamp(0.0, 1.0))
            .collect();
        let mut mass = [0.0; 3];
        for (index, mark) in marks.iter().enumerate() {
            mass[0] += mark * (index % side) as f64;
            mass[1] += mark * (index / side) as f64;
            mass[2] += mark;
        }
        // Where an edge falls between pixels matters less when all are soft.
        let soft = softened(&softened(&marks, side, 1), side, side);
        let at = |x: usize, y: usize| {
            if x < side && y < side {
                soft[y * side + x]
            } else {
                0.0
            }
        };
        let place = |axis: usize, index: usize| {
            let off = (index as f64 - (SIDE as f64 - 1.0) / 2.0) * pitch / self.step as f64;
            let place = mass[axis] / mass[2].max(1.0) + off;
            // Below zero it is as far outside as above the last one.
            (place.floor() as i64 as usize, place - place.floor())
        };
        std::array::from_fn(|index| {
            let ((x, right), (y, low)) = (place(0, index % SIDE), place(1, index / SIDE));
            let row = |y: usize| at(x, y) * (1.0 - right) + at(x.wrapping_add(1), y) * right;
            (row(y) * (1.0 - low) + row(y.wrapping_add(1)) * low) as f32
        })
    }
}

/// The places beside a place, as far as there are.
fn around(x: usize, y: usize, side: usize) -> impl Iterator<Item = (usize, usize)> {
    let range = move |at: usize| at.saturating_sub(1)..(at + 2).min(side);
    range(y).flat_map(move |y| range(x).map(move |x| (x, y)))
}

/// Each value mixed with a quarter of those before and after it, `stride` values away.
fn softened(values: &[f64], side: usize, stride: usize) -> Vec<f64> {
    let last = side - 1;
    let mix = |index: usize| {
        let place = index / stride % side;
        let before = if place > 0 {
            values[index - stride]
        } else {
            0.0
        };
        let after = if place < last {
            values[index + stride]
        } else {
            0.0
        };
        0.25 * (before + after) + 0.5 * values[index]
    };
    (0..values.len()).map(mix).collect()
}
