//! Top-hats: what is brighter than its surroundings *and* thin (white top-hat), or darker and thin (black top-hat).
//!
//! Lights behind the board, terminals and bright windows leave nothing in it. A line is found once, not twice as in a
//! comparison with the local mean.

use opencv::core::{self, Mat, MatTraitConst, MatTraitConstManual, Point, Rect, Scalar};
use opencv::imgproc;

use crate::picture::Picture;
use crate::picture::polarity::Polarity;

/// The thin bright things of a picture. Kept from picture to picture for its memory.
#[derive(Default)]
pub struct TopHat {
    grey: Mat,
    /// How much brighter or darker than its surroundings each pixel is.
    thin: Mat,
    /// Frame pixels of the first pixel examined.
    origin: (usize, usize),
}

impl TopHat {
    /// Examines a part of a picture, left, top, width and height in frame pixels. Within the part it
    /// gives what looking at the whole picture gives.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn look_at(
        &mut self,
        picture: &Picture<'_>,
        part: Rect,
        polarity: Polarity,
    ) -> opencv::Result<()> {
        let side = thinness(picture.width().min(picture.height()) as i32);
        let part = widened(picture, part, side);
        self.origin = (part.x as usize, part.y as usize);
        picture.grey(part, &mut self.grey)?;
        imgproc::morphology_ex(
            &self.grey,
            &mut self.thin,
            match polarity {
                Polarity::Bright => imgproc::MORPH_TOPHAT,
                Polarity::Dark => imgproc::MORPH_BLACKHAT,
            },
            &kernel(side)?,
            Point::new(-1, -1),
            1,
            core::BORDER_CONSTANT,
            imgproc::morphology_default_border_value()?,
        )
    }

    /// How much thin things stand out, as OpenCV has it, and the frame pixels of its first pixel.
    #[must_use]
    pub fn mat(&self) -> (&Mat, [f64; 2]) {
        (&self.thin, [self.origin.0 as f64, self.origin.1 as f64])
    }

    /// How much thin things stand out, by place.
    ///
    /// # Errors
    /// When nothing was examined yet.
    pub fn thin(&self) -> opencv::Result<TopHatResponse<'_>> {
        Ok(TopHatResponse {
            bytes: self.thin.data_bytes()?,
            width: self.thin.cols().max(0) as usize,
            origin: (self.origin.0 as f64, self.origin.1 as f64),
        })
    }
}

/// How much brighter than its surroundings each pixel is, where that is thin.
#[derive(Clone, Copy)]
pub struct TopHatResponse<'a> {
    bytes: &'a [u8],
    width: usize,
    /// Frame pixels of the first pixel.
    origin: (f64, f64),
}

impl<'a> TopHatResponse<'a> {
    /// At a point in frame pixels; 0 outside.
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> u8 {
        let (x, y) = self.place(x, y);
        // Undoing a perspective gives points as far away as there are, and none at all.
        let height = self.bytes.len() / self.width.max(1);
        if !(0.0..self.width as f64).contains(&x) || !(0.0..height as f64).contains(&y) {
            return 0;
        }
        let index = y as usize * self.width + x as usize;
        self.bytes.get(index).copied().unwrap_or(0)
    }

    /// The strongest of the pixels within a reach of a point, in frame pixels.
    #[must_use]
    pub fn strongest(&self, x: f64, y: f64, reach: f64) -> u8 {
        let reach = reach.max(2.0);
        let (x, y) = self.place(x, y);
        self.rows((x - reach, x + reach), (y - reach, y + reach))
            .filter_map(|row| row.iter().max())
            .max()
            .copied()
            .unwrap_or(0)
    }

    /// From frame pixels to pixels of the top-hat.
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (x - self.origin.0, y - self.origin.1)
    }

    /// The rows of a rectangle, as far as it was examined.
    fn rows(&self, x: (f64, f64), y: (f64, f64)) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (bytes, width) = (self.bytes, self.width);
        let height = bytes.len() / width.max(1);
        // Casts of negative numbers give 0.
        let columns = (x.0 as usize).min(width)..(x.1 as usize).min(width);
        let rows = (y.0 as usize).min(height)..(y.1 as usize).min(height);
        rows.filter_map(move |row| {
            bytes.get(row * width + columns.start..row * width + columns.end)
        })
    }
}

/// A part with as much around it as its pixels depend on: the darkest and then the brightest within half
/// of the window.
fn widened(picture: &Picture<'_>, part: Rect, side: i32) -> Rect {
    let range = |start: i32, length: i32, most: usize| {
        let end = start.saturating_add(length).saturating_add(side + 1);
        ((start - side).max(0), end.min(most as i32))
    };
    let (left, right) = range(part.x, part.width, picture.width());
    let (top, bottom) = range(part.y, part.height, picture.height());
    Rect::new(left, top, right - left, bottom - top)
}

/// The side of the window that a line must be thinner than. Grid lines are some fiftieth of a cell;
/// the largest cells are a quarter of the picture's shorter side.
fn thinness(shorter_side: i32) -> i32 {
    2 * (shorter_side / 360 + 1).max(2) + 1
}

/// A square window.
///
/// # Errors
/// When OpenCV fails, which needs more memory than there is.
pub fn kernel(side: i32) -> opencv::Result<Mat> {
    Mat::new_rows_cols_with_default(side, side, core::CV_8UC1, Scalar::all(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_there_is_nothing_however_far() {
        let bytes = [9; 12];
        let thin = TopHatResponse {
            bytes: &bytes,
            width: 4,
            origin: (10.0, 20.0),
        };
        assert_eq!((thin.at(10.0, 20.0), thin.at(13.9, 22.9)), (9, 9));
        for far in [-1e300, 0.0, 99.0, 1e19, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!((thin.at(far, 21.0), thin.at(11.0, far)), (0, 0), "{far}");
        }
    }
}
