//! Where a board lies in a picture.
//!
//! Two frames of coordinates meet here. *Board units*: x grows to the right and y down, one unit a
//! cell, (0, 0) the top left corner of the bounding grid, so that on squares the centre of the cell
//! at row r and column c is (c + 0.5, r + 0.5). *Frame pixels*: (0, 0) is the top left corner of the
//! picture's first pixel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::projection::Point;
use crate::projection::Projection;

/// The place of a board in a frame: where the corners of its bounding grid lie. The map between is
/// the projective one, so that a board seen in perspective (the flip) needs nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Geometry {
    /// Frame pixels of the corners top left, top right, bottom right, bottom left of the board. They lie elsewhere in
    /// the frame where the board lies on its side there.
    pub corners: [Point; 4],
    /// Rows of the bounding grid.
    pub rows: usize,
    /// Columns of the bounding grid.
    pub cols: usize,
}

impl Geometry {
    /// The place of a board whose corners lie at these frame pixels: top left, top right, bottom right, bottom left.
    #[must_use]
    pub const fn new(corners: [Point; 4], rows: usize, cols: usize) -> Self {
        Self {
            corners,
            rows,
            cols,
        }
    }

    /// A board whose sides are parallel to those of the picture: `x`, `y`, `width` and `height` in frame pixels.
    #[must_use]
    pub fn axis_aligned(x: f64, y: f64, width: f64, height: f64, rows: usize, cols: usize) -> Self {
        let corners = [
            [x, y],
            [x + width, y],
            [x + width, y + height],
            [x, y + height],
        ];
        Self {
            corners,
            rows,
            cols,
        }
    }

    /// From board units to frame pixels.
    #[must_use]
    pub fn to_frame(&self, point: Point) -> Point {
        let share = [point[0] / self.cols as f64, point[1] / self.rows as f64];
        self.projection().map(share)
    }

    /// From frame pixels to board units. `None` where the corners span no area.
    #[must_use]
    pub fn to_board(&self, point: Point) -> Option<Point> {
        let [u, v] = self.projection().inverse()?.map(point);
        (u.is_finite() && v.is_finite()).then_some([u * self.cols as f64, v * self.rows as f64])
    }

    /// From shares of the board, across and down, to frame pixels.
    fn projection(&self) -> Projection {
        Projection::of_unit_square(self.corners)
    }
}

#[cfg(test)]
mod tests;
