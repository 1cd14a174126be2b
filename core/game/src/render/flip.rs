//! A board that turns about its upright middle line, seen in perspective.

use std::f64::consts::PI;

use super::canvas::Canvas;

/// How far away the eye is, in widths of the board.
const EYE: f64 = 2.5;
/// How far the board's lines stand out over its edge, in pixels.
const EDGE: f64 = 3.0;

/// One moment of a flip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// How far the face that is seen is turned, from -π/2 to π/2; its right side away from the eye
    /// is positive.
    angle: f64,
    shows_back: bool,
}

impl Turn {
    /// A share of half a turn, from 0 to 1. At half of it the other face comes into sight.
    pub(super) fn new(share: f64) -> Self {
        let shows_back = share >= 0.5;
        let angle = if shows_back { share - 1.0 } else { share } * PI;
        Self { angle, shows_back }
    }

    /// Whether the face that comes is seen, not the one that goes.
    pub(super) fn shows_back(self) -> bool {
        self.shows_back
    }

    /// Draws the part of `flat` where the board lies as it is seen when turned. Both pictures are of
    /// one size; `board` is left, top, width and height in pixels.
    pub(super) fn draw(self, canvas: &mut Canvas, flat: &Canvas, board: [f64; 4]) {
        let [left, top, width, height] = board;
        let (middle_x, middle_y) = (left + width / 2.0, top + height / 2.0);
        let (half_width, half_height) = (width / 2.0 + EDGE, height / 2.0 + EDGE);
        let eye = EYE * width;
        let (sin, cos) = self.angle.sin_cos();
        // Column, point along the board, and how much smaller the board is than it is seen there.
        let mut columns = Vec::new();
        for x in 0..canvas.width() {
            // A point `along` the board from its middle is seen at
            // along · cos · eye / (eye + along · sin); this is solved for `along`.
            let seen = x as f64 + 0.5 - middle_x;
            let along = seen * eye / (eye * cos - seen * sin);
            let depth = eye + along * sin;
            // Behind the eye the same formula gives points that can't be seen.
            if along.abs() <= half_width && depth > 0.0 {
                columns.push((x, along, depth / eye));
            }
        }
        // Row by row, as pictures lie in memory.
        for y in 0..canvas.height() {
            let seen = y as f64 + 0.5 - middle_y;
            for &(x, along, shrink) in &columns {
                let down = seen * shrink;
                if down.abs() <= half_height {
                    let pixel = flat.between(middle_x + along - 0.5, middle_y + down - 0.5);
                    canvas.set(x, y, pixel);
                }
            }
        }
    }
}
