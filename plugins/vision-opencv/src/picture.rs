//! A picture in foreign memory, read in place.

use std::ops::Range;

use flowpipe_plugin::{Format, PixelInfo};
use opencv::core::{Mat, MatTraitConst, Rect};
use opencv::imgproc;
use thiserror::Error;

use crate::memory::{Area, Key, Memory, Table};

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// Pixels and how they lie. Nothing is copied.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    pixels: &'a [u8],
    info: PixelInfo,
    /// Bytes of one pixel.
    step: usize,
    /// Where red, green and blue are in it.
    order: [usize; 3],
    /// What was seen in it before.
    memory: Option<&'a Memory>,
}

/// The first bytes of a pixel and perhaps of the next one, as they lie in memory.
type Bytes = [u8; 4];

/// Why bytes are no picture.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PictureError {
    /// No pixels.
    #[error("a picture of {width} by {height} pixels")]
    Empty {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// More rows or bytes in a row than OpenCV counts.
    #[error("a picture too large for OpenCV: {height} rows of {stride} bytes")]
    TooLarge {
        /// Bytes from one row to the next.
        stride: usize,
        /// Pixels.
        height: u32,
    },
    /// The rows overlap.
    #[error("rows of {width} pixels do not fit into {stride} bytes")]
    ShortRow {
        /// Pixels.
        width: u32,
        /// Bytes from one row to the next.
        stride: usize,
    },
    /// Not enough bytes.
    #[error("a picture needs {needed} bytes, there are {found}")]
    ShortBuffer {
        /// Stride times height.
        needed: usize,
        /// What there is.
        found: usize,
    },
}

impl<'a> Picture<'a> {
    /// Checks that the pixels lie as `info` describes.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn new(pixels: &'a [u8], info: PixelInfo) -> Result<Self, PictureError> {
        let PixelInfo {
            format,
            width,
            height,
            stride,
            ..
        } = info;
        if width == 0 || height == 0 {
            return Err(PictureError::Empty { width, height });
        }
        let step = format.bytes_per_pixel();
        if (width as usize)
            .checked_mul(step)
            .is_none_or(|row| row > stride)
        {
            return Err(PictureError::ShortRow { width, stride });
        }
        let too_large = PictureError::TooLarge { stride, height };
        let needed = stride.checked_mul(height as usize).ok_or(too_large)?;
        if i32::try_from(stride).is_err() || i32::try_from(height).is_err() {
            return Err(too_large);
        }
        let found = pixels.len();
        let pixels = pixels
            .get(..needed)
            .ok_or(PictureError::ShortBuffer { needed, found })?;
        let order = match format {
            Format::Bgra8 | Format::Bgr8 => [2, 1, 0],
            Format::Rgba8 | Format::Rgb8 => [0, 1, 2],
            Format::Grey8 => [0; 3],
        };
        Ok(Self {
            pixels,
            info,
            step,
            order,
            memory: None,
        })
    }

    /// The same with what was seen in it before.
    #[must_use]
    pub fn with_memory<'b>(&self, memory: &'b Memory) -> Picture<'b>
    where
        'a: 'b,
    {
        Picture {
            memory: Some(memory),
            ..*self
        }
    }

    /// What was seen before, where that is cached, else what a new reading gives. `what` is the key, and all
    /// pixels that it depends on.
    #[inline]
    pub fn recall<V: Clone>(
        &self,
        table: impl FnOnce(&Memory) -> &Table<V>,
        what: impl FnOnce() -> (Key, Area),
        look: impl FnOnce() -> V,
    ) -> V {
        let Some(memory) = self.memory else {
            return look();
        };
        let (key, area) = what();
        let area = area.clipped([self.width(), self.height()]);
        memory.recall(table(memory), key, area, look)
    }

    /// Pixels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.info.width as usize
    }

    /// Pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.info.height as usize
    }

    /// The colour at a point in frame pixels, `None` outside of the picture.
    #[inline]
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> Option<Rgb> {
        // A cast keeps NaN and negative numbers out only with this comparison.
        if x >= 0.0 && y >= 0.0 {
            // No picture is as wide as the largest of these numbers, which casts stop at.
            self.pixel(x as i32 as usize, y as i32 as usize)
        } else {
            None
        }
    }

    /// The colour at a point in frame pixels, mixed from the four pixels around it. `None` where one
    /// of them is outside of the picture.
    #[inline]
    #[must_use]
    pub fn between(&self, x: f64, y: f64) -> Option<Rgb> {
        // Casts stop at zero, and bring what is no number there.
        let [left, top] = [x, y].map(|at| (at - 0.5) as i32 as usize);
        if !(x >= 0.5 && y >= 0.5) || left >= self.width() - 1 || top >= self.height() - 1 {
            return None;
        }
        let start = top * self.info.stride + left * self.step;
        let below = start + self.info.stride;
        let corners = [
            self.bytes(start),
            self.bytes(start + self.step),
            self.bytes(below),
            self.bytes(below + self.step),
        ];
        let [right, low] = [x - 0.5 - left as f64, y - 0.5 - top as f64].map(|part| part as f32);
        let weights = [
            (1.0 - right) * (1.0 - low),
            right * (1.0 - low),
            (1.0 - right) * low,
            right * low,
        ];
        // All four bytes at once.
        let mut mixed = [0.0_f32; 4];
        for (bytes, weight) in corners.iter().zip(weights) {
            for (mixed, byte) in mixed.iter_mut().zip(bytes) {
                *mixed += f32::from(*byte) * weight;
            }
        }
        // Rounds, for a cast cuts off.
        Some(self.ordered(mixed).map(|value| (value + 0.5) as u8))
    }

    /// The colour of one pixel, `None` outside of the picture.
    #[inline]
    #[must_use]
    pub fn pixel(&self, x: usize, y: usize) -> Option<Rgb> {
        if x >= self.info.width as usize || y >= self.info.height as usize {
            return None;
        }
        let start = y * self.info.stride + x * self.step;
        Some(self.colour(self.bytes(start)))
    }

    /// The bytes of the pixel that begins at a byte.
    #[inline]
    fn bytes(&self, start: usize) -> Bytes {
        let rest = &self.pixels[start..];
        // The last pixels of a picture may have fewer.
        rest.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = Bytes::default();
            bytes
                .iter_mut()
                .zip(rest)
                .for_each(|(to, from)| *to = *from);
            bytes
        })
    }

    #[inline]
    fn colour(&self, bytes: Bytes) -> Rgb {
        self.ordered(bytes)
    }

    /// What belongs to red, green and blue, of what belongs to the bytes of a pixel.
    #[inline]
    fn ordered<T: Copy>(&self, bytes: [T; 4]) -> [T; 3] {
        // The remainder changes nothing, but shows that there is such a place.
        self.order.map(|place| bytes[place % 4])
    }

    /// The sum of the colours of some pixels: from one on, each so many columns and rows (none of them
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

    /// Bytes from a pixel to one so many columns and rows after it.
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

    /// Appends the grey of every so many pixels of a row, from one column on: the mean of red, blue and twice
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

    /// How the pixels lie.
    #[must_use]
    pub fn info(&self) -> PixelInfo {
        self.info
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

/// Appends the grey of pixels of four bytes that begin every so many bytes.
fn grey_of<const BYTES: usize>(bytes: &[u8], grey: &mut Vec<u8>) {
    let first = |pixel: &[u8]| pixel.first_chunk().copied().map(mean);
    let (pixels, rest) = bytes.as_chunks::<BYTES>();
    grey.extend(pixels.iter().map(|pixel| first(pixel).unwrap_or_default()));
    grey.extend(first(rest));
}

#[cfg(test)]
mod tests {
    use opencv::core::MatTraitConstManual;

    use super::*;

    fn info(format: Format, width: u32, height: u32, stride: usize) -> PixelInfo {
        PixelInfo::new(format, width, height).with_stride(stride)
    }

    #[test]
    fn sizes_are_checked() {
        let error = |info, bytes: usize| Picture::new(&vec![0; bytes], info).err();
        let rgb = Format::Rgb8;
        assert_eq!(
            error(info(rgb, 0, 5, 0), 0),
            Some(PictureError::Empty {
                width: 0,
                height: 5
            })
        );
        assert_eq!(
            error(info(rgb, 4, 2, 11), 99),
            Some(PictureError::ShortRow {
                width: 4,
                stride: 11
            })
        );
        assert_eq!(
            error(info(rgb, 4, 2, 13), 25),
            Some(PictureError::ShortBuffer {
                needed: 26,
                found: 25
            })
        );
        assert_eq!(
            error(info(Format::Grey8, 1, u32::MAX, 1), 9),
            Some(PictureError::TooLarge {
                stride: 1,
                height: u32::MAX
            })
        );
        assert_eq!(error(info(rgb, 4, 2, 13), 26), None);
    }

    #[test]
    fn rows_with_gaps_are_read_in_place() {
        // Two rows of two pixels with three bytes between, blue first.
        let bytes = [1, 2, 3, 4, 5, 6, 9, 9, 9, 7, 8, 9, 10, 11, 12, 9, 9, 9];
        let picture = Picture::new(&bytes, info(Format::Bgr8, 2, 2, 9)).unwrap();
        assert_eq!(picture.pixel(1, 0), Some([6, 5, 4]));
        assert_eq!(picture.at(0.9, 1.5), Some([9, 8, 7]));
        assert_eq!(picture.between(1.0, 1.0), Some([8, 7, 6]));
        for (x, y) in [
            (-0.1, 0.0),
            (2.0, 0.0),
            (0.0, 2.0),
            (f64::NAN, 0.0),
            (f64::INFINITY, 0.0),
        ] {
            assert_eq!(picture.at(x, y), None);
        }
        let mut grey = Mat::default();
        picture.grey(Rect::new(0, 0, 2, 2), &mut grey).unwrap();
        assert_eq!(grey.data_typed::<u8>().unwrap(), [2, 5, 8, 11]);
    }
}
