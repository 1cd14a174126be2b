//! A board that turns about its vertical middle line, seen in perspective.

use std::f64::consts::PI;

use super::Area;
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

/// A turned board in a picture.
pub(super) struct Turned {
    columns: Vec<Column>,
    /// The pixels that the turned board may cover.
    area: Area,
}

/// What is seen in a column of pixels.
struct Column {
    /// The flat picture's columns on both sides of what is seen, and how far it is from the first to
    /// the second in 256ths.
    from: [usize; 2],
    across: u64,
    /// The rows of pixels that show the board: first and past the last.
    rows: [usize; 2],
    /// The flat picture's row that is seen in row 0, and how much further it is from row to row,
    /// both in 65,536ths.
    start: i64,
    step: i64,
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

    /// A board at this moment, by left, top, width and height in pixels when it lies flat in a picture
    /// of a size. `None` where nothing of it is seen.
    pub(super) fn see(self, board: [f64; 4], size: (u32, u32)) -> Option<Turned> {
        let [left, top, width, height] = board;
        let (middle_x, middle_y) = (left + width / 2.0, top + height / 2.0);
        let (half_width, half_height) = (width / 2.0 + EDGE, height / 2.0 + EDGE);
        let eye = EYE * width;
        let (sin, cos) = self.angle.sin_cos();
        let last = f64::from(size.0.saturating_sub(1));
        let (mut first_x, mut columns) = (None, Vec::new());
        for x in 0..size.0 {
            // A point `along` the board from its middle is seen at
            // along · cos · eye / (eye + along · sin); this is solved for `along`.
            let seen = f64::from(x) + 0.5 - middle_x;
            let along = seen * eye / (eye * cos - seen * sin);
            let depth = eye + along * sin;
            // Behind the eye the same formula gives points that can't be seen. What is seen is one
            // stretch, so that no column between is missing.
            if along.abs() <= half_width && depth > 0.0 {
                first_x.get_or_insert(x);
                let at = (middle_x + along - 0.5).clamp(0.0, last);
                // How much smaller the board is than it is seen there.
                let shrink = depth / eye;
                let half_seen = half_height / shrink;
                let row = |y: f64| (y.ceil().max(0.0) as usize).min(size.1 as usize);
                columns.push(Column {
                    from: [at as usize, (at as usize + 1).min(last as usize)],
                    across: (at.fract() * 256.0) as u64,
                    // Rows whose middles show the board.
                    rows: [-half_seen, half_seen].map(|half| row(middle_y + half - 0.5)),
                    start: fixed(middle_y - 0.5 + (0.5 - middle_y) * shrink),
                    step: fixed(shrink),
                });
            }
        }
        let left = f64::from(first_x?);
        let top = columns.iter().map(|column| column.rows[0]).min()?;
        let bottom = columns.iter().map(|column| column.rows[1]).max()?;
        let area = Area::between(
            [left, top as f64],
            [left + columns.len() as f64, bottom as f64],
            size,
        )?;
        Some(Turned { columns, area })
    }
}

impl Turned {
    /// The pixels that may be drawn.
    pub(super) fn area(&self) -> Area {
        self.area
    }

    /// Draws the part of `flat` where the board lies. Both pictures are of the size that was given.
    pub(super) fn draw(&self, canvas: &mut Canvas, flat: &Canvas) {
        let (width, last) = (canvas.width(), canvas.height() as i64 - 1);
        let (flat, _) = flat.rgba().as_chunks::<4>();
        let (pixels, _) = canvas.rgba_mut().as_chunks_mut::<4>();
        // Row by row, as pictures lie in memory.
        let (top, bottom) = (self.area.top as usize, self.area.bottom() as usize);
        let rows = pixels.chunks_exact_mut(width).enumerate();
        for (y, row) in rows.take(bottom).skip(top) {
            let row = &mut row[self.area.left as usize..];
            for (pixel, column) in row.iter_mut().zip(&self.columns) {
                if y < column.rows[0] || y >= column.rows[1] {
                    continue;
                }
                let at = (column.start + y as i64 * column.step).clamp(0, last << 16);
                // Shares in 256ths are as fine as the values themselves.
                let share = (at >> 8 & 0xff) as u64;
                let above = (at >> 16) as usize * width;
                let below = (((at >> 16) + 1).min(last)) as usize * width;
                let [left, right] = column.from;
                let seen = |row: usize| {
                    let [a, b] = [left, right].map(|x| lanes(flat[row + x]));
                    between(a, b, column.across)
                };
                *pixel = values(between(seen(above), seen(below), share));
            }
        }
    }
}

/// In 65,536ths.
fn fixed(value: f64) -> i64 {
    (value * 65_536.0) as i64
}

/// The four values of a pixel, 16 bits apart: they are reckoned with at once.
fn lanes(pixel: [u8; 4]) -> u64 {
    let pixel = u64::from(u32::from_le_bytes(pixel));
    (pixel | pixel << 24) & 0x00ff_00ff_00ff_00ff
}

/// The pixel of four values.
fn values(lanes: u64) -> [u8; 4] {
    ((lanes | lanes >> 24) as u32).to_le_bytes()
}

/// The way from one pixel to another by a share in 256ths, rounded down.
fn between(a: u64, b: u64, share: u64) -> u64 {
    (a * (256 - share) + b * share) >> 8 & 0x00ff_00ff_00ff_00ff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_goes_its_own_way() {
        let (a, b) = (lanes([0, 255, 8, 255]), lanes([255, 0, 8, 255]));
        assert_eq!(values(a), [0, 255, 8, 255]);
        assert_eq!(values(between(a, b, 0)), [0, 255, 8, 255]);
        assert_eq!(values(between(a, b, 64)), [63, 191, 8, 255]);
        assert_eq!(values(between(a, b, 255)), [254, 0, 8, 255]);
    }
}
