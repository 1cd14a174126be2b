//! The geometry of a board that is turned about its vertical middle line, as while it flips over to the next one.
//!
//! In perspective, a point at `a` along the board (-1 its left border, 1 its right one) is seen at `x = C a / (1 + q
//! a)` from the middle, and vertical lengths are `1 / (1 + q a)` as long as at the middle.

use flowpipe_plugin::puzzle::{Geometry, Point};

use crate::numerics::regression::least_squares;

/// A board that is seen turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnedBoard {
    /// The middle of the line that it turns about, in frame pixels.
    pub middle: Point,
    /// Half of its width as it would be seen without perspective, in frame pixels.
    pub(super) half_width: f64,
    /// Half of its height where it turns.
    pub(super) half_height: f64,
    /// How much farther away its right border is than the middle, as a share of that distance.
    pub depth: f64,
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub cols: usize,
}

impl TurnedBoard {
    /// One whose vertical lines are known: its middle and half of its width as in [`TurnedBoard::across`], its depth
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

    /// Where a place along the board is seen, in frame pixels from the middle: -1 is the left border, 1
    /// the right one.
    #[must_use]
    pub fn across(&self, along: f64) -> f64 {
        self.half_width * along * self.shrink(along)
    }

    /// The place along the board that is seen `across` frame pixels from the middle.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_more_leaves_the_others_where_they_are() {
        let old = TurnedBoard {
            half_height: 200.0,
            rows: 7,
            ..TurnedBoard::of_columns([300.0, 400.0], 150.0, 0.1, 6).unwrap()
        };
        let line = |turned: &TurnedBoard, column: usize| {
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
