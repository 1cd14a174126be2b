//! Finds a board that turns about its vertical middle line, as one does that flips over to the next.
//!
//! Where the middle of the board is is known from a board that lay at rest there; how far it is turned,
//! how far away the eye is and how many cells the board has are not. Seen in perspective, what lies
//! at `a` along the board (-1 its left border, 1 its right one) is seen at `x = C a / (1 + q a)` from the
//! middle, and vertical lengths are `1 / (1 + q a)` as long as at the middle. So the vertical lines stay vertical,
//! and two of them on both sides of the middle give `q`; then all others must lie evenly. The horizontal lines
//! become straight lines that `q` gives the slope of: along those thin pixels are counted.

use flowpipe_plugin::puzzle::{Geometry, Point};

use crate::config::Config;
use crate::numerics::peaks::{Peak, peaks};
use crate::numerics::regression::least_squares;
use crate::numerics::spacing::Spacing;
use crate::picture::top_hat::Thin;

/// How much a line stands out at least, as a share of what the lines at rest do: those that are seen
/// narrow stand out less.
const STRONG: f64 = 0.25;
/// Lines at each end that may be the border; what lies beyond is none of the board's.
const ENDS: usize = 3;
/// The share of a line's length, around the middle, that the vertical ones are looked for in.
const BAND: f64 = 0.6;
/// A board that is turned further shows too little.
const LEAST_COSINE: f64 = 0.19;
/// Horizontal lines are looked for in steps of so many pixels.
const STEP: f64 = 1.0;
/// How often the middle's height is made better, at most.
const CENTRINGS: usize = 5;
/// Points along a horizontal line that are examined, at most.
const POINTS: f64 = 160.0;

/// A board that lay at rest where one now may turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Its middle, in frame pixels.
    pub middle: Point,
    /// Its width and height, in frame pixels.
    pub size: [f64; 2],
    /// How many pixels wide its lines are.
    pub thickness: f64,
    /// How much they stand out in the top-hat.
    pub strength: f64,
}

impl Rest {
    /// What stands out less is no line.
    #[must_use]
    pub fn level(&self) -> u8 {
        (STRONG * self.strength).max(3.0) as u8
    }

    /// Where a board may be seen that turns here: left, top, width and height in frame pixels, which may
    /// lie outside of the frame. The next board's sides may be longer than this one's, and the side that
    /// comes towards the eye is seen longer.
    #[must_use]
    pub fn room(&self) -> [f64; 4] {
        let longer = self.size[0].max(self.size[1]);
        let (width, height) = (1.1 * longer, 1.6 * longer);
        let [x, y] = self.middle;
        [x - width / 2.0, y - height / 2.0, width, height]
    }
}

/// A board that is seen turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turned {
    /// The middle of the line that it turns about, in frame pixels.
    pub middle: Point,
    /// Half of its width as it would be seen without perspective, in frame pixels.
    half_width: f64,
    /// Half of its height where it turns.
    half_height: f64,
    /// How much farther away its right border is than the middle, as a share of that distance.
    pub depth: f64,
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub cols: usize,
}

impl Turned {
    /// Finds it. `None` where there is none that can be made out, or one that is hardly turned.
    #[must_use]
    pub fn find(thin: &Thin<'_>, rest: &Rest, config: &Config) -> Option<Self> {
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

    /// One whose vertical lines are known: its middle and half of its width as in [`Turned::across`], its depth
    /// and its columns. `None` for what can't be one.
    #[must_use]
    pub fn of_columns(middle: Point, half_width: f64, depth: f64, cols: usize) -> Option<Self> {
        let can_be = half_width > 0.0 && depth.abs() < 1.0;
        can_be.then_some(Self {
            middle,
            half_width,
            half_height: 0.0,
            depth,
            rows: 0,
            cols,
        })
    }

    /// The same with its vertical lines where they were seen: columns and frame pixels from the left.
    #[must_use]
    pub fn with_lines(&self, lines: &[(usize, f64)]) -> Option<Self> {
        // At a share of -1 to 1 along the board is seen x = (m + b a) / (1 + d a), or x = m + b a - d a x.
        let origin = self.middle[0];
        let rows = lines.iter().map(|&(column, at)| {
            let along = 2.0 * column as f64 / self.cols as f64 - 1.0;
            let x = at - origin;
            ([1.0, along, -along * x], x)
        });
        let [off, slope, depth] = least_squares(rows)?;
        let half_width = slope - off * depth;
        let middle = [origin + off, self.middle[1]];
        Some(Self {
            half_height: self.half_height * self.shrink(self.along(off)),
            rows: self.rows,
            ..Self::of_columns(middle, half_width, depth, self.cols)?
        })
    }

    /// Finds the horizontal lines of one whose height is known roughly. Pipes hide some of them.
    #[must_use]
    pub fn find_rows(mut self, thin: &Thin<'_>, rest: &Rest, config: &Config) -> Option<Self> {
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

    /// The same with a column more at its right border, or at its left one.
    #[must_use]
    pub fn with_column(&self, at_right: bool) -> Option<Self> {
        let cols = self.cols as f64;
        // The new middle, and half of the new width, in halves of the old one.
        let (middle, half) = (
            if at_right { 1.0 } else { -1.0 } / cols,
            (cols + 1.0) / cols,
        );
        let shrink = self.shrink(middle);
        let depth = self.depth * half * shrink;
        let off = self.across(middle);
        let half_width = self.half_width * half * shrink - off * depth;
        let place = [self.middle[0] + off, self.middle[1]];
        Some(Self {
            half_height: self.half_height * shrink,
            rows: self.rows,
            ..Self::of_columns(place, half_width, depth, self.cols + 1)?
        })
    }

    /// Finds the horizontal lines.
    fn with_rows(self, thin: &Thin<'_>, rest: &Rest, level: u8, config: &Config) -> Option<Self> {
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
    fn is_turned(&self, rest: &Rest) -> bool {
        // Cells are squares.
        let half_width = self.half_height / self.rows as f64 * self.cols as f64;
        let cosine = self.half_width / half_width;
        let slope = self.half_height * (self.shrink(-1.0) - self.shrink(1.0)).abs();
        (LEAST_COSINE..1.03).contains(&cosine) && slope >= 2.5 * rest.thickness + 2.0
    }

    /// The peaks of thin pixels along lines that are horizontal on the board, by height above or below the middle.
    fn horizontal_lines(&self, thin: &Thin<'_>, rest: &Rest, level: u8) -> Vec<Peak> {
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

    /// Where a place along the board is seen, in frame pixels from the middle: -1 is the left border, 1
    /// the right one.
    #[must_use]
    pub fn across(&self, along: f64) -> f64 {
        self.half_width * along * self.shrink(along)
    }

    /// The place along the board that is seen so many frame pixels from the middle.
    #[must_use]
    pub fn along(&self, across: f64) -> f64 {
        across / (self.half_width - self.depth * across)
    }

    /// How long vertical things are seen at a place along the board, as a share of what they are at the
    /// middle.
    #[must_use]
    pub fn shrink(&self, along: f64) -> f64 {
        1.0 / (1.0 + self.depth * along)
    }

    /// Half of the width as it would be seen without perspective, in frame pixels.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// Half of the height where it turns, in frame pixels.
    #[must_use]
    pub fn half_height(&self) -> f64 {
        self.half_height
    }

    /// The width of the narrowest column, in frame pixels.
    #[must_use]
    pub fn narrowest(&self) -> f64 {
        let next = 1.0 - 2.0 / self.cols as f64;
        let left = self.across(-next) - self.across(-1.0);
        left.min(self.across(1.0) - self.across(next))
    }

    /// The width of the widest column, in frame pixels.
    #[must_use]
    pub fn widest(&self) -> f64 {
        let next = 1.0 - 2.0 / self.cols as f64;
        let left = self.across(-next) - self.across(-1.0);
        left.max(self.across(1.0) - self.across(next))
    }

    /// The place in the frame.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        let corner = |along: f64, down: f64| {
            let [x, y] = self.middle;
            let seen = self.half_height * down * self.shrink(along);
            [x + self.across(along), y + seen]
        };
        Geometry {
            corners: [
                corner(-1.0, -1.0),
                corner(1.0, -1.0),
                corner(1.0, 1.0),
                corner(-1.0, 1.0),
            ],
            rows: self.rows,
            cols: self.cols,
        }
    }
}

/// The peaks of thin pixels by column, from the middle.
fn vertical_lines(thin: &Thin<'_>, rest: &Rest, level: u8) -> Vec<Peak> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_more_leaves_the_others_where_they_are() {
        let old = Turned {
            half_height: 200.0,
            rows: 7,
            ..Turned::of_columns([300.0, 400.0], 150.0, 0.1, 6).unwrap()
        };
        let line = |turned: &Turned, column: usize| {
            let along = 2.0 * column as f64 / turned.cols as f64 - 1.0;
            let half_height = turned.half_height * turned.shrink(along);
            (turned.middle[0] + turned.across(along), half_height)
        };
        for (at_right, shift) in [(true, 0), (false, 1)] {
            let new = old.with_column(at_right).unwrap();
            assert_eq!((new.rows, new.cols), (7, 7));
            for column in 0..=6 {
                let (a, b) = (line(&old, column), line(&new, column + shift));
                assert!(
                    (a.0 - b.0).abs() < 1e-6 && (a.1 - b.1).abs() < 1e-6,
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
