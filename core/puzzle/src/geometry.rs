//! Where a board lies in a picture.
//!
//! Two frames of coordinates meet here. *Board units*: x grows to the right and y down, one unit a
//! cell, (0, 0) the top left corner of the bounding grid, so that on squares the centre of the cell
//! at row r and column c is (c + 0.5, r + 0.5). *Frame pixels*: (0, 0) is the top left corner of the
//! picture's first pixel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point, `[x, y]`.
pub type Point = [f64; 2];

/// The place of a board in a frame: where the corners of its bounding grid lie. The map between is
/// the projective one, so that a board seen in perspective (the flip) needs nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
    /// A board upright in the picture: `x`, `y`, `width` and `height` in frame pixels.
    #[must_use]
    pub fn upright(x: f64, y: f64, width: f64, height: f64, rows: usize, cols: usize) -> Self {
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
        project(
            &self.unit_square_to_frame(),
            [point[0] / self.cols as f64, point[1] / self.rows as f64],
        )
    }

    /// From frame pixels to board units. `None` where the corners span no area.
    #[must_use]
    pub fn to_board(&self, point: Point) -> Option<Point> {
        let [u, v] = project(&invert(&self.unit_square_to_frame())?, point);
        (u.is_finite() && v.is_finite()).then_some([u * self.cols as f64, v * self.rows as f64])
    }

    /// The projective map that takes the unit square to the corners (Heckbert, "Fundamentals of
    /// texture mapping and image warping", 1989).
    fn unit_square_to_frame(&self) -> [f64; 9] {
        let [p0, p1, p2, p3] = self.corners;
        let sum = [p0[0] - p1[0] + p2[0] - p3[0], p0[1] - p1[1] + p2[1] - p3[1]];
        let (d1, d2) = (
            [p1[0] - p2[0], p1[1] - p2[1]],
            [p3[0] - p2[0], p3[1] - p2[1]],
        );
        let determinant = d1[0] * d2[1] - d2[0] * d1[1];
        let (g, h) = if sum == [0.0, 0.0] || determinant == 0.0 {
            (0.0, 0.0)
        } else {
            (
                (sum[0] * d2[1] - d2[0] * sum[1]) / determinant,
                (d1[0] * sum[1] - sum[0] * d1[1]) / determinant,
            )
        };
        [
            p1[0] - p0[0] + g * p1[0],
            p3[0] - p0[0] + h * p3[0],
            p0[0],
            p1[1] - p0[1] + g * p1[1],
            p3[1] - p0[1] + h * p3[1],
            p0[1],
            g,
            h,
            1.0,
        ]
    }
}

fn project(map: &[f64; 9], [x, y]: Point) -> Point {
    let w = map[6] * x + map[7] * y + map[8];
    [
        (map[0] * x + map[1] * y + map[2]) / w,
        (map[3] * x + map[4] * y + map[5]) / w,
    ]
}

fn invert(m: &[f64; 9]) -> Option<[f64; 9]> {
    let cofactors = [
        m[4] * m[8] - m[5] * m[7],
        m[2] * m[7] - m[1] * m[8],
        m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3] * m[8],
        m[0] * m[8] - m[2] * m[6],
        m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6],
        m[1] * m[6] - m[0] * m[7],
        m[0] * m[4] - m[1] * m[3],
    ];
    let determinant = m[0] * cofactors[0] + m[1] * cofactors[3] + m[2] * cofactors[6];
    // Twice the area of the corners against their extent: a thousandth of a pixel on a screen is flat.
    let extent = [m[0], m[1], m[3], m[4]]
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    (determinant.abs() > 1e-12 * extent * extent)
        .then(|| cofactors.map(|value| value / determinant))
}

#[cfg(test)]
mod tests;
