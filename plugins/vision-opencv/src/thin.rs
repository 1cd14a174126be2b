//! What is brighter than its surroundings *and* thin: a white top-hat of a picture, or of a part of it.
//!
//! So neither the lights behind the board nor terminals nor bright windows around it leave anything,
//! and a line is not struck double, which a comparison with the local mean does.

use opencv::core::{self, Mat, MatTraitConst, MatTraitConstManual, Point, Rect, Scalar, Size};
use opencv::imgproc;

use crate::picture::Picture;

/// The thin bright things of a picture. Kept from picture to picture for its memory.
#[derive(Default)]
pub struct TopHat {
    grey: Mat,
    smaller: Mat,
    /// How much brighter than its surroundings each pixel is.
    thin: Mat,
    scale: u32,
    /// Frame pixels of the first pixel looked at.
    origin: (usize, usize),
}

impl TopHat {
    /// Looks at a whole picture, with `scale` by `scale` pixels made one.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn look(&mut self, picture: &Picture<'_>, scale: u32) -> opencv::Result<()> {
        let whole = Rect::new(0, 0, picture.width() as i32, picture.height() as i32);
        self.look_at(picture, whole, scale)
    }

    /// Looks at a part of a picture, left, top, width and height in frame pixels. Within the part it
    /// gives what looking at the whole picture gives.
    ///
    /// # Errors
    /// As [`TopHat::look`].
    pub fn look_at(&mut self, picture: &Picture<'_>, part: Rect, scale: u32) -> opencv::Result<()> {
        self.scale = scale.max(1);
        let side = thinness(picture.width().min(picture.height()) as i32 / self.scale as i32);
        let part = self.widened(picture, part, side);
        self.origin = (part.x as usize, part.y as usize);
        picture.grey(part, &mut self.grey)?;
        if self.scale > 1 {
            let factor = 1.0 / f64::from(self.scale);
            imgproc::resize(
                &self.grey,
                &mut self.smaller,
                Size::default(),
                factor,
                factor,
                imgproc::INTER_AREA,
            )?;
            std::mem::swap(&mut self.grey, &mut self.smaller);
        }
        imgproc::morphology_ex(
            &self.grey,
            &mut self.thin,
            imgproc::MORPH_TOPHAT,
            &kernel(side)?,
            Point::new(-1, -1),
            1,
            core::BORDER_CONSTANT,
            imgproc::morphology_default_border_value()?,
        )
    }

    /// A part with as much around it as its pixels depend on, in whole pixels of the top-hat.
    fn widened(&self, picture: &Picture<'_>, part: Rect, side: i32) -> Rect {
        let scale = self.scale as i32;
        // The darkest and then the brightest within half of the window.
        let around = side * scale;
        let first = |start: i32| (start - around).max(0) / scale * scale;
        let (left, top) = (first(part.x), first(part.y));
        let last = |start: i32, length: i32, most: usize| {
            let end = start.saturating_add(length).saturating_add(around);
            end.div_euclid(scale)
                .saturating_add(1)
                .saturating_mul(scale)
                .min(most as i32)
        };
        let right = last(part.x, part.width, picture.width());
        let bottom = last(part.y, part.height, picture.height());
        Rect::new(left, top, right - left, bottom - top)
    }

    /// From the darkest to the brightest level of grey.
    ///
    /// # Errors
    /// When nothing was looked at yet.
    pub fn contrast(&self) -> opencv::Result<f64> {
        let (mut darkest, mut brightest) = (0.0, 0.0);
        core::min_max_loc(
            &self.grey,
            Some(&mut darkest),
            Some(&mut brightest),
            None,
            None,
            &core::no_array(),
        )?;
        Ok(brightest - darkest)
    }

    /// How much thin things stand out, as OpenCV has it.
    #[must_use]
    pub fn mat(&self) -> &Mat {
        &self.thin
    }

    /// How much thin things stand out, by place.
    ///
    /// # Errors
    /// When nothing was looked at yet.
    pub fn thin(&self) -> opencv::Result<Thin<'_>> {
        Ok(Thin {
            bytes: self.thin.data_bytes()?,
            width: self.thin.cols().max(0) as usize,
            scale: self.scale(),
            origin: (self.origin.0 as f64, self.origin.1 as f64),
        })
    }

    /// Picture pixels for one pixel of the top-hat.
    #[must_use]
    pub fn scale(&self) -> f64 {
        f64::from(self.scale)
    }
}

/// How much brighter than its surroundings each pixel is, where that is thin.
#[derive(Clone, Copy)]
pub struct Thin<'a> {
    bytes: &'a [u8],
    width: usize,
    scale: f64,
    /// Frame pixels of the first pixel.
    origin: (f64, f64),
}

impl<'a> Thin<'a> {
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
        let reach = (reach / self.scale).max(2.0);
        let (x, y) = self.place(x, y);
        self.rows((x - reach, x + reach), (y - reach, y + reach))
            .filter_map(|row| row.iter().max())
            .max()
            .copied()
            .unwrap_or(0)
    }

    /// How many frame pixels' length of thin things there is in a rectangle that stands out by a
    /// level. Both sides are given in frame pixels.
    #[must_use]
    pub fn count(&self, x: (f64, f64), y: (f64, f64), level: u8) -> f64 {
        let (left, top) = self.place(x.0, y.0);
        let (right, bottom) = self.place(x.1, y.1);
        let strong = |row: &[u8]| row.iter().filter(|&&value| value >= level).count();
        let rows = self.rows((left, right), (top, bottom));
        rows.map(strong).sum::<usize>() as f64 * self.scale
    }

    /// From frame pixels to pixels of the top-hat.
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (
            (x - self.origin.0) / self.scale,
            (y - self.origin.1) / self.scale,
        )
    }

    /// The rows of a rectangle, as far as it was looked at.
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
        let thin = Thin {
            bytes: &bytes,
            width: 4,
            scale: 1.0,
            origin: (10.0, 20.0),
        };
        assert_eq!((thin.at(10.0, 20.0), thin.at(13.9, 22.9)), (9, 9));
        for far in [-1e300, 0.0, 99.0, 1e19, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!((thin.at(far, 21.0), thin.at(11.0, far)), (0, 0), "{far}");
        }
    }
}
