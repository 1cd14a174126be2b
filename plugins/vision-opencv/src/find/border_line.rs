//! The line of a border of a grid of squares, with the lines beside it and across it.

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::find::profile::{Orientation, StretchPlace};
use crate::picture::Picture;
use crate::picture::polarity::Polarity;

/// The parts of a cell's side that no pipe crosses, as shares of it.
const FREE: [(f64, f64); 2] = [(0.1, 0.25), (0.75, 0.9)];

/// The line of a border. Places are in frame pixels.
pub struct BorderLine<'a> {
    /// How it runs.
    pub run: Orientation,
    /// Where it lies, across it.
    pub at: f64,
    /// Where the picture ends on its side.
    pub edge: f64,
    /// 1 where that is to the right or down, else -1.
    pub outwards: f64,
    /// Pixels of the picture across it.
    pub size: usize,
    /// The lines inside that run beside it.
    pub beside: &'a [f64],
    /// The lines that cross it.
    pub crossing: &'a [f64],
}

impl<'a> BorderLine<'a> {
    /// The line of a border of a grid in a picture.
    #[must_use]
    pub fn new(picture: &Picture<'_>, grid: &'a Grid, border: Border) -> Self {
        let (run, lines, crossing, size) = match border {
            Border::Upper | Border::Lower => (
                Orientation::Horizontal,
                &grid.ys,
                &grid.xs,
                picture.height(),
            ),
            Border::Left | Border::Right => {
                (Orientation::Vertical, &grid.xs, &grid.ys, picture.width())
            }
        };
        let last = lines.len() - 1;
        let is_last = matches!(border, Border::Lower | Border::Right);
        Self {
            run,
            at: lines[if is_last { last } else { 0 }],
            edge: if is_last { size as f64 } else { 0.0 },
            outwards: if is_last { 1.0 } else { -1.0 },
            size,
            beside: &lines[1..last],
            crossing,
        }
    }

    /// The stretches of a line beside or on it that pipes do not cover.
    pub fn stretches(&self, line: f64, polarity: Polarity) -> impl Iterator<Item = StretchPlace> {
        let run = self.run;
        let crossing = self.crossing.windows(2);
        crossing.flat_map(move |ends| {
            let along = |share: f64| ends[0] + share * (ends[1] - ends[0]);
            FREE.map(|(from, to)| {
                StretchPlace::along(run, line, (along(from), along(to)), polarity)
            })
        })
    }

    /// From where to where it runs, in whole pixels.
    #[must_use]
    pub fn range(&self, half: f64) -> [i64; 2] {
        let (first, last) = (self.crossing[0], self.crossing[self.crossing.len() - 1]);
        [(first - half).floor() as i64, (last + half).ceil() as i64]
    }
}
