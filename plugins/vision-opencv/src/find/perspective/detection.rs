//! Detects a board that turns about its vertical middle line where one was at rest.
//!
//! The middle of the board is known from the one at rest. Its angle, its distance from the camera and its number of
//! cells are not. The vertical lines stay vertical: a pair of them, one on each side of the middle, gives the
//! perspective (`q` of [`TurnedBoard`]), in which all others must be evenly spaced. Then `q` gives the slope of each
//! horizontal line, along which thin pixels are counted.

use crate::config::Config;
use crate::find::perspective::rest_pose::RestPose;
use crate::find::perspective::turned_board::TurnedBoard;
use crate::numerics::peaks::{Peak, peaks};
use crate::numerics::spacing::Spacing;
use crate::picture::top_hat::TopHatResponse;

/// Lines at each end that may be the border; what lies beyond is none of the board's.
const ENDS: usize = 3;

/// The share of a line's length, around the middle, that the vertical ones are looked for in.
const BAND: f64 = 0.6;

/// A board that is turned further shows too little.
const LEAST_COSINE: f64 = 0.19;

/// The step between the places where horizontal lines are looked for, in pixels.
const STEP: f64 = 1.0;

/// How often the middle's height is made better, at most.
const CENTRINGS: usize = 5;

/// Points along a horizontal line that are examined, at most.
const POINTS: f64 = 160.0;

impl TurnedBoard {
    /// Finds it. `None` where there is none that can be made out, or one that is hardly turned.
    #[must_use]
    pub fn find(thin: &TopHatResponse<'_>, rest: &RestPose, config: &Config) -> Option<Self> {
        let level = rest.level();
        let vertical = vertical_lines(thin, rest, level);
        pairs(&vertical).find_map(|(left, right, inner)| {
            let (a, b) = (left.at, right.at);
            let bend = (a + b) / (2.0 * a * b);
            let unbent = |x: f64| x / (1.0 - bend * x);
            let half_width = unbent(b);
            let cols = evenly(inner.iter().map(|peak| unbent(peak.at)), half_width)?;
            let turned = Self {
                middle: rest.middle,
                half_width,
                half_height: 0.0,
                depth: bend * half_width,
                rows: 0,
                cols,
            };
            turned.with_rows(thin, rest, level, config)
        })
    }

    /// Finds the horizontal lines of one whose height is known roughly. Pipes hide some of them.
    #[must_use]
    pub fn find_rows(
        mut self,
        thin: &TopHatResponse<'_>,
        rest: &RestPose,
        config: &Config,
    ) -> Option<Self> {
        let most = 0.8 * rest.size[1];
        // Horizontal lines are followed rightly once the middle is where they have their vanishing point.
        for _ in 0..CENTRINGS {
            let lines = self.horizontal_lines(thin, rest, rest.level());
            let places = lines.iter().map(|peak| peak.at);
            let places: Vec<f64> = places.filter(|at| at.abs() <= most).collect();
            let spacing = Spacing::find(&places, 0.05, 1.0)?;
            let (first, last) = (spacing.members.first()?.1, spacing.members.last()?.1);
            let (top, bottom) = (places[first], places[last]);
            let off = f64::midpoint(top, bottom);
            self.middle[1] += off;
            self.half_height = (bottom - top) / 2.0;
            self.rows = spacing.parts();
            if off.abs() < 0.5 {
                break;
            }
        }
        let height = 2.0 * self.half_height;
        let whole = height >= 0.8 * rest.size[1] && height <= 1.35 * rest.size[1];
        let fits = self.rows >= config.min_cells && self.rows <= config.max_cells;
        (whole && fits && self.is_turned(rest)).then_some(self)
    }

    /// Finds the horizontal lines.
    fn with_rows(
        self,
        thin: &TopHatResponse<'_>,
        rest: &RestPose,
        level: u8,
        config: &Config,
    ) -> Option<Self> {
        let horizontal_lines = self.horizontal_lines(thin, rest, level);
        let (least, most) = (config.min_cells, config.max_cells);
        pairs(&horizontal_lines).find_map(|(top, bottom, inner)| {
            let half_height = (bottom.at - top.at) / 2.0;
            // It turns about the middle of its sides.
            if (top.at + bottom.at).abs() > 2.0 + 0.01 * half_height {
                return None;
            }
            let middle = f64::midpoint(top.at, bottom.at);
            let rows = evenly(inner.iter().map(|peak| peak.at - middle), half_height)?;
            let turned = Self {
                half_height,
                rows,
                ..self
            };
            let fits = rows.min(self.cols) >= least && rows.max(self.cols) <= most;
            (fits && turned.is_turned(rest)).then_some(turned)
        })
    }

    /// Whether it is turned, and not too far. What is turned by less than its lines' thickness could be a
    /// board that lies a little aside.
    fn is_turned(&self, rest: &RestPose) -> bool {
        // Cells are squares.
        let half_width = self.half_height / self.rows as f64 * self.cols as f64;
        let cosine = self.half_width / half_width;
        let slope = self.half_height * (self.shrink(-1.0) - self.shrink(1.0)).abs();
        (LEAST_COSINE..1.03).contains(&cosine) && slope >= 2.5 * rest.thickness + 2.0
    }

    /// The peaks of thin pixels along lines that are horizontal on the board, by height above or below the middle.
    fn horizontal_lines(&self, thin: &TopHatResponse<'_>, rest: &RestPose, level: u8) -> Vec<Peak> {
        let most = rest.room()[3] / 2.0;
        let steps = (2.0 * most / STEP) as usize;
        let [left, right] = [self.across(-1.0), self.across(1.0)];
        let count = ((right - left) / 2.0).clamp(1.0, POINTS) as usize;
        // Where along the picture, and how long vertical things are seen there.
        let places: Vec<(f64, f64)> = (0..count)
            .map(|index| {
                let share = (index as f64 + 0.5) / count as f64;
                let x = left + share * (right - left);
                let (near, far) = (self.shrink(-1.0), self.shrink(1.0));
                (self.middle[0] + x, near + share * (far - near))
            })
            .collect();
        let counts: Vec<f64> = (0..steps)
            .map(|step| {
                let height = (step as f64 + 0.5) * STEP - most;
                let hits = places
                    .iter()
                    .filter(|(x, shrink)| thin.at(*x, self.middle[1] + height * shrink) >= level);
                hits.count() as f64
            })
            .collect();
        let scaled = |peak: Peak| Peak {
            at: peak.at * STEP - most,
            width: peak.width * STEP,
        };
        peaks(&counts).into_iter().map(scaled).collect()
    }
}

/// The peaks of thin pixels by column, from the middle.
fn vertical_lines(thin: &TopHatResponse<'_>, rest: &RestPose, level: u8) -> Vec<Peak> {
    let [left, _, width, _] = rest.room();
    let [x, y] = rest.middle;
    let half = BAND / 2.0 * rest.size[0].min(rest.size[1]);
    let rows = half as usize;
    // From whole pixel to whole pixel.
    let left = left.floor();
    let counts: Vec<f64> = (0..width as usize)
        .map(|column| {
            let across = left + column as f64 + 0.5;
            let down = |row: usize| (y - half).floor() + 2.0 * row as f64 + 0.5;
            let hits = (0..rows).filter(|&row| thin.at(across, down(row)) >= level);
            hits.count() as f64
        })
        .collect();
    let from_middle = |peak: Peak| Peak {
        at: peak.at + left - x,
        ..peak
    };
    peaks(&counts).into_iter().map(from_middle).collect()
}

/// Pairs of lines that may be the borders, outermost first, one on each side of the middle, with all from
/// the one to the other.
fn pairs(lines: &[Peak]) -> impl Iterator<Item = (Peak, Peak, &[Peak])> {
    let mut ends: Vec<(usize, usize)> = (0..ENDS)
        .flat_map(|first| (0..ENDS).map(move |last| (first, last)))
        .collect();
    ends.sort_by_key(|(first, last)| first + last);
    ends.into_iter().filter_map(|(first, last)| {
        let inner = lines.get(first..lines.len().checked_sub(last)?)?;
        let (left, right) = (*inner.first()?, *inner.last()?);
        (left.at < 0.0 && right.at > 0.0).then_some((left, right, inner))
    })
}

/// How many equal parts lines make of what lies between -half and half, if they do.
fn evenly(lines: impl ExactSizeIterator<Item = f64>, half: f64) -> Option<usize> {
    let parts = lines.len().checked_sub(1)?;
    let part = 2.0 * half / parts as f64;
    let mut lines = lines.enumerate();
    let even = lines.all(|(index, at)| {
        let off = at + half - part * index as f64;
        off.abs() <= (0.05 * part).max(1.0)
    });
    (even && parts > 0).then_some(parts)
}
