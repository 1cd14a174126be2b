//! Sums of the colours of many pixels, and grey levels.

use std::ops::Range;

use flowpipe_plugin::Format;
use opencv::core::{Mat, MatTraitConst, Rect};
use opencv::imgproc;

use crate::picture::{Bytes, Picture};

impl<'a> Picture<'a> {
    /// The sum of the colours of some pixels: from one on, each a number of columns and rows (none of them
    /// negative) after the one before. `None` where one lies outside of the picture.
    #[inline]
    #[must_use]
    pub fn sum(&self, first: [i64; 2], stride: [i64; 2], count: u32) -> Option<[u32; 3]> {
        let last = i64::from(count.checked_sub(1)?);
        let end = [0, 1].map(|axis| first[axis] + stride[axis] * last);
        let start = self.start_of(first, end)?;
        let mut sum = [0; 4];
        self.add(start, self.bytes_to(stride), count, &mut sum);
        Some(self.ordered(sum))
    }

    /// The sum of the colours of a square of pixels, given by its upper left one and its side. `None` where one
    /// lies outside of the picture.
    #[inline]
    #[must_use]
    pub fn sum_of_square(&self, first: [i64; 2], side: u32) -> Option<[u32; 3]> {
        let last = i64::from(side.checked_sub(1)?);
        let start = self.start_of(first, first.map(|at| at + last))?;
        let mut sum = [0; 4];
        for row in 0..side as usize {
            self.add(start + row * self.info.stride, self.step, side, &mut sum);
        }
        Some(self.ordered(sum))
    }

    /// Appends the sums of the colours of rows of pixels that lie side by side. The first row begins at `first`,
    /// each next one `aside`; in a row each pixel lies `along` after the one before (none of these negative), and
    /// there are `count` of them, 256 at most. All must lie in the picture, else nothing is appended.
    pub fn sums_of_rows(
        &self,
        first: [i64; 2],
        (along, count): ([i64; 2], u32),
        (aside, rows): ([i64; 2], u32),
        sums: &mut Vec<[u16; 3]>,
    ) {
        let Some((last, other)) = count.checked_sub(1).zip(rows.checked_sub(1)) else {
            return;
        };
        let (last, other) = (i64::from(last), i64::from(other));
        let end = [0, 1].map(|axis| first[axis] + along[axis] * last + aside[axis] * other);
        let Some(start) = self.start_of(first, end) else {
            return;
        };
        let (next, beside) = (self.bytes_to(along), self.bytes_to(aside));
        sums.extend((0..rows as usize).map(|row| {
            let mut sum = [0_u16; 4];
            for index in 0..count as usize {
                let bytes = self.bytes(start + row * beside + index * next);
                for (sum, byte) in sum.iter_mut().zip(bytes) {
                    *sum += u16::from(byte);
                }
            }
            self.ordered(sum)
        }));
    }

    /// The byte at which a pixel begins. `None` where it or another one lies outside of the picture.
    #[inline]
    fn start_of(&self, first: [i64; 2], last: [i64; 2]) -> Option<usize> {
        let [width, height] = [self.info.width, self.info.height].map(i64::from);
        let inside = |[x, y]: [i64; 2]| (0..width).contains(&x) && (0..height).contains(&y);
        (inside(first) && inside(last))
            .then(|| first[1] as usize * self.info.stride + first[0] as usize * self.step)
    }

    /// Bytes from a pixel to the one that is these columns and rows after it.
    #[inline]
    fn bytes_to(&self, [columns, rows]: [i64; 2]) -> usize {
        rows as usize * self.info.stride + columns as usize * self.step
    }

    /// Adds up the bytes of pixels.
    #[inline]
    fn add(&self, start: usize, next: usize, count: u32, sum: &mut [u32; 4]) {
        for index in 0..count as usize {
            let bytes = self.bytes(start + index * next);
            for (sum, byte) in sum.iter_mut().zip(bytes) {
                *sum += u32::from(byte);
            }
        }
    }

    /// The bytes of a row of pixels from one column to another, as far as they lie in the picture.
    #[must_use]
    pub fn row(&self, y: usize, columns: Range<usize>) -> &'a [u8] {
        let columns = columns.start.min(self.width())..columns.end.min(self.width());
        let start = y * self.info.stride;
        let bytes = start + columns.start * self.step..start + columns.end * self.step;
        self.pixels.get(bytes).unwrap_or_default()
    }

    /// Appends the grey of one in `stride` pixels of a row, from one column on: the mean of red, blue and twice
    /// green.
    pub fn grey_row(&self, y: usize, first: usize, stride: usize, grey: &mut Vec<u8>) {
        let bytes = self.row(y, first..self.width());
        // The compiler does many pixels at once where it knows how far apart they are.
        match (self.step, stride) {
            (4, 1) => grey_of::<4>(bytes, grey),
            (4, 2) => grey_of::<8>(bytes, grey),
            (4, 3) => grey_of::<12>(bytes, grey),
            (4, 4) => grey_of::<16>(bytes, grey),
            (4, 5) => grey_of::<20>(bytes, grey),
            (4, 8) => grey_of::<32>(bytes, grey),
            (1, _) => grey.extend(bytes.iter().step_by(stride.max(1))),
            (step, _) => {
                let pixels = bytes.chunks(step * stride.max(1));
                grey.extend(pixels.map(|pixel| mean([pixel[0], pixel[1], pixel[2], 0])));
            }
        }
    }

    /// Writes a part of the picture, which must lie inside, in grey.
    ///
    /// # Errors
    /// When OpenCV fails: the part does not lie inside, or there is too little memory.
    pub fn grey(&self, part: Rect, grey: &mut Mat) -> opencv::Result<()> {
        // Rows of bytes first, then the bytes that are pixels: so any stride is honoured.
        let bytes = Mat::new_rows_cols_with_bytes::<u8>(
            self.info.height as i32,
            self.info.stride as i32,
            self.pixels,
        )?;
        let step = self.step as i32;
        let used = Rect::new(part.x * step, part.y, part.width * step, part.height);
        let used = Mat::roi(&bytes, used)?;
        let pixels = used.reshape(step, 0)?;
        let code = match self.info.format {
            Format::Bgra8 => imgproc::COLOR_BGRA2GRAY,
            Format::Rgba8 => imgproc::COLOR_RGBA2GRAY,
            Format::Bgr8 => imgproc::COLOR_BGR2GRAY,
            Format::Rgb8 => imgproc::COLOR_RGB2GRAY,
            Format::Grey8 => return pixels.copy_to(grey),
        };
        imgproc::cvt_color(&pixels, grey, code, 0)
    }
}

/// Of red and blue in any order, green between, and what does not count.
#[inline]
fn mean(bytes: Bytes) -> u8 {
    // As one word, of which many are done at once.
    let word = u32::from_le_bytes(bytes);
    (((word & 0xff) + (word >> 7 & 0x1fe) + (word >> 16 & 0xff)) >> 2) as u8
}

/// Appends the grey of pixels of four bytes that begin every `BYTES` bytes.
fn grey_of<const BYTES: usize>(bytes: &[u8], grey: &mut Vec<u8>) {
    let first = |pixel: &[u8]| pixel.first_chunk().copied().map(mean);
    let (pixels, rest) = bytes.as_chunks::<BYTES>();
    grey.extend(pixels.iter().map(|pixel| first(pixel).unwrap_or_default()));
    grey.extend(first(rest));
}
