//! Thin drawings in cells, which must not be there, except for the rails of bridges.
//!
//! A drawing is narrow and has an edge on both sides. Blurred lights and compression have no such edges.

use flowpipe_plugin::puzzle::{Cell, Point};

use crate::picture::cache::{Area, CacheKey, Measurement};
use crate::picture::colour::distance;
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_colours::CellColours;
use crate::read::contents::cell_layout::{CellLayout, INSIDE};
use crate::read::contents::terminals::BoardColours;

/// A drawing stands out by at least this share of what grid lines do.
const STRONG: f64 = 0.4;
/// And by this multiple of what noise does.
const ABOVE_NOISE: f64 = 5.0;
/// Two levels are what compression leaves on a flat surface, and a drawing is more.
const FAINT: f64 = 6.0;
/// What is farther than this from a point, in spans of a cell, is beside the stroke that goes over it.
const BESIDE: f64 = 0.1;
/// Where scan lines go, in spans from the centre.
const SCANS: [f64; 5] = [-0.24, -0.12, 0.0, 0.12, 0.24];
/// How far they go to both sides.
const REACH: f64 = 0.4;
/// The least number of them that cross a stroke.
pub(super) const CROSSED: usize = 2;
/// Samples of a scan line, at most.
const SAMPLES: usize = 96;
/// A cell is empty, to estimate noise by, when its middle differs from its corners by fewer levels.
const EMPTY: f64 = 30.0;
/// Cells that noise is estimated from, at most.
const ENOUGH: usize = 24;

/// Finds drawings.
pub struct Drawings<'a> {
    pub(super) picture: &'a Picture<'a>,
    pub(super) places: &'a CellLayout<'a>,
    /// By how many levels of a channel they stand out.
    pub(super) level: i32,
}

/// How far thin drawings in a cell stand out.
struct Drawing;

impl Measurement for Drawing {
    type Value = i32;
}

/// How far samples are apart in an empty cell.
struct Noise;

impl Measurement for Noise {
    type Value = Option<i32>;
}

type Sample = [i32; 3];

impl<'a> Drawings<'a> {
    /// `contrast`: how far grid lines stand out, in levels of their best channel.
    #[must_use]
    pub fn new(
        picture: &'a Picture<'a>,
        places: &'a CellLayout<'a>,
        looks: &BoardColours,
        contrast: f64,
    ) -> Self {
        let drawings = Self {
            picture,
            places,
            level: 0,
        };
        let level = (STRONG * contrast)
            .max(ABOVE_NOISE * drawings.noise(looks))
            .max(FAINT);
        Self {
            level: level.round() as i32,
            ..drawings
        }
    }

    /// Whether there is a thin drawing inside a cell.
    #[must_use]
    pub fn is_drawn(&self, cell: Cell) -> bool {
        let centre = self.places.centre(cell);
        let drawn = self
            .picture
            .recall::<Drawing>(|| self.what(centre, 0.0), || self.drawn(centre));
        drawn >= self.level
    }

    /// What the reading of the cell around a place depends on, and one more number.
    pub(super) fn what(&self, centre: Point, other: f64) -> (CacheKey, Area) {
        let area = self.places.area(centre, INSIDE);
        (self.places.key(centre, other), area)
    }

    /// How far a thin drawing stands out that enough scan lines cross, in levels; 0 where there is none.
    fn drawn(&self, centre: Point) -> i32 {
        let beside = self.beside();
        let crossed = |axis: usize, off: f64| {
            let (samples, count) = self.scan(centre, axis, off);
            let strokes = (beside..count.saturating_sub(beside)).map(|index| {
                let [before, here, after] =
                    [index - beside, index, index + beside].map(|at| samples[at]);
                let far = apart(here, before).min(apart(here, after));
                if 2 * apart(before, after) <= far {
                    far
                } else {
                    0
                }
            });
            strokes.max().unwrap_or(0)
        };
        let mut crossed = [0, 1].map(|axis| SCANS.map(|off| crossed(axis, off)));
        let crossed = crossed.as_flattened_mut();
        crossed.sort_unstable();
        crossed[crossed.len() - CROSSED]
    }

    /// How many samples of a scan line there are to what lies beside a stroke.
    fn beside(&self) -> usize {
        let beside = BESIDE * self.places.span / self.step() as f64;
        (beside.round() as usize).max(2)
    }

    /// Pixels from sample to sample: lines are some fiftieth of a cell wide, and at least one pixel.
    fn step(&self) -> i64 {
        let coarse =
            (0.015 * self.places.span).max(2.0 * REACH * self.places.span / SAMPLES as f64);
        (coarse.ceil() as i64).max(1)
    }

    /// Samples along a line through a cell, each of a few pixels across it. `axis`: 0 from left to right,
    /// 1 downwards. `off`: how far aside of the centre.
    fn scan(&self, centre: Point, axis: usize, off: f64) -> ([Sample; SAMPLES], usize) {
        let (span, step) = (self.places.span, self.step());
        let wide = ((0.05 * span).round() as i64).clamp(1, 3);
        let mut first = [0; 2];
        first[axis] = (centre[axis] - REACH * span).round() as i64;
        first[1 - axis] = (centre[1 - axis] + off * span).floor() as i64 - wide / 2;
        let mut stride = [0; 2];
        stride[1 - axis] = 1;
        let mut samples = [[0; 3]; SAMPLES];
        let count = ((2.0 * REACH * span) as usize / step as usize).min(SAMPLES);
        for sample in &mut samples[..count] {
            if let Some(sum) = self.picture.sum(first, stride, wide as u32) {
                *sample = sum.map(|sum| (sum / wide as u32) as i32);
            }
            first[axis] += step;
        }
        (samples, count)
    }

    /// How many levels noise makes of nothing: how far samples are from those beside, in cells that are
    /// empty. Dark values are cut off at black, so that cells with a light behind them show most of it.
    fn noise(&self, looks: &BoardColours) -> f64 {
        let is_empty = |look: &CellColours| {
            look.terminal.is_none() && distance(look.middle, look.background) < EMPTY
        };
        let beside = self.beside();
        let every = looks.cells.len().div_ceil(ENOUGH).max(1);
        let cells = looks
            .there()
            .filter(|(cell, look)| cell % every == 0 && is_empty(look));
        let mut found: Vec<i32> = cells
            .filter_map(|(cell, _)| {
                let centre = self.places.centre(cell);
                self.picture.recall::<Noise>(
                    || self.what(centre, 0.0),
                    || self.noise_around(centre, beside),
                )
            })
            .collect();
        let most = found.len() * 9 / 10;
        match found.get_mut(..) {
            // Of the largest of three normal values four in five are below 1.8 deviations.
            Some(found @ [_, ..]) => f64::from(*found.select_nth_unstable(most).1) / 1.8,
            _ => 0.0,
        }
    }

    fn noise_around(&self, centre: Point, beside: usize) -> Option<i32> {
        let (samples, count) = self.scan(centre, 0, SCANS[1]);
        let samples = &samples[..count];
        let pairs = samples.iter().zip(samples.get(beside..)?);
        let mut apart: Vec<i32> = pairs.map(|(a, b)| apart(*a, *b)).collect();
        apart.sort_unstable();
        apart.get(apart.len() * 4 / 5).copied()
    }
}

pub(super) fn add(sum: &mut Sample, colour: Rgb) {
    for (sum, value) in sum.iter_mut().zip(colour) {
        *sum += i32::from(value);
    }
}

/// How far apart two samples are in the channel that shows it best.
pub(super) fn apart(a: Sample, b: Sample) -> i32 {
    let [red, green, blue] = [0, 1, 2].map(|channel: usize| (a[channel] - b[channel]).abs());
    red.max(green).max(blue)
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::{Format, PixelInfo};

    use super::*;
    use crate::find::grid::Grid;
    use crate::read::contents::rails::Rails;
    use crate::read::contents::terminals;
    use crate::read::shape::board_shape::BoardShape;

    /// Pixels from one line to the next.
    const CELL: usize = 80;
    /// The cell in the middle of three by three.
    const MIDDLE: Cell = 4;

    /// What is seen in the middle cell of a dark board, with squares of light pixels at places from its centre, so
    /// many pixels to each side.
    fn seen(marks: &[Point], far: f64) -> (Rails, bool) {
        let side = 3 * CELL;
        let mut bytes = vec![20; side * side];
        let middle = side as f64 / 2.0;
        for (index, value) in bytes.iter_mut().enumerate() {
            let off = [index % side, index / side].map(|at| at as f64 + 0.5 - middle);
            let covers = |mark: &Point| (0..2).all(|axis| (off[axis] - mark[axis]).abs() <= far);
            if marks.iter().any(covers) {
                *value = 120;
            }
        }
        let info = PixelInfo::new(Format::Grey8, side as u32, side as u32);
        let picture = Picture::new(&bytes, info).unwrap();
        let lines: Vec<f64> = (0..=3).map(|line| (line * CELL) as f64).collect();
        let grid = Grid::squares(lines.clone(), lines, CELL as f64);
        let places = CellLayout::new(&grid);
        let looks = terminals::look(&picture, &places, &grid, &BoardShape::default());
        let drawings = Drawings::new(&picture, &places, &looks, 90.0);
        let look = looks.cells[MIDDLE].as_ref().unwrap();
        (drawings.rails(MIDDLE, look), drawings.is_drawn(MIDDLE))
    }

    /// The middle of each stretch that a rail of a bridge crosses.
    fn crossings() -> Vec<Point> {
        let lines: Vec<f64> = (0..=3).map(|line| (line * CELL) as f64).collect();
        let grid = Grid::squares(lines.clone(), lines, CELL as f64);
        let places = CellLayout::new(&grid);
        let sides = (0..places.corners()).flat_map(|side| [(side, false), (side, true)]);
        let stretches = sides.map(|(side, at_next)| places.beside(side, at_next));
        stretches
            .map(|[from, to]| [0, 1].map(|axis| f64::midpoint(from[axis], to[axis])))
            .collect()
    }

    #[test]
    fn an_empty_cell_has_no_drawing() {
        assert_eq!(seen(&[], 1.0), (Rails::None, false));
    }

    #[test]
    fn a_bridge_has_rails_near_all_corners() {
        let crossings = crossings();
        assert_eq!(crossings.len(), 8);
        assert_eq!(seen(&crossings, 2.0).0, Rails::All);
        assert_eq!(seen(&crossings[..5], 2.0).0, Rails::Some);
    }

    #[test]
    fn a_thin_stroke_is_a_drawing_and_a_wide_shape_is_none() {
        let stroke: Vec<Point> = (-20..=20).map(|y| [0.0, f64::from(y)]).collect();
        assert!(seen(&stroke, 1.5).1);
        assert!(!seen(&[[0.0, 0.0]], 24.0).1);
    }
}
