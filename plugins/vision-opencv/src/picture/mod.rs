//! Reads the pixels of a picture in place, in the memory of the host.
//!
//! | For | Go to |
//! |---|---|
//! | sums and grey levels of many pixels | `sums` |
//! | distances between colours | [`colour`] |
//! | thin bright or dark structures | [`top_hat`] |
//! | pictures turned by a quarter | [`rotation`] |
//! | pictures with a margin | [`margin`] |
//! | measurements of unchanged pixels | [`cache`] |

pub mod cache;
pub mod colour;
pub mod cut_out;
mod error;
pub mod margin;
pub mod polarity;
pub mod rotation;
mod sums;
pub mod top_hat;

use flowpipe_plugin::{Format, PixelInfo};
use opencv::core::Rect;

pub use crate::picture::error::PictureError;

use crate::picture::cache::{Area, Cache, CacheKey, Measurement};

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
    /// What was measured in it before.
    cache: Option<&'a Cache>,
}

/// The first bytes of a pixel and perhaps of the next one, as they lie in memory.
type Bytes = [u8; 4];

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
            cache: None,
        })
    }

    /// The same with what was measured in it before.
    #[must_use]
    pub fn with_cache<'b>(&self, cache: &'b Cache) -> Picture<'b>
    where
        'a: 'b,
    {
        Picture {
            cache: Some(cache),
            ..*self
        }
    }

    /// What was measured before, where that is cached, else what a new measurement gives. `what` is the key, and all
    /// pixels that it depends on.
    #[inline]
    pub fn recall<M: Measurement>(
        &self,
        what: impl FnOnce() -> (CacheKey, Area),
        measure: impl FnOnce() -> M::Value,
    ) -> M::Value {
        let Some(cache) = self.cache else {
            return measure();
        };
        let (key, area) = what();
        let area = area.clipped([self.width(), self.height()]);
        cache.recall::<M>(key, area, measure)
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

    /// Whole pixels of a rectangle (left, top, width and height), as far as it lies in the picture.
    #[must_use]
    pub fn region(&self, [left, top, width, height]: [f64; 4]) -> Rect {
        let side = |start: f64, length: f64, most: usize| {
            let most = most as f64;
            let (first, last) = (start.floor(), (start + length).ceil());
            let (first, last) = (first.clamp(0.0, most), last.clamp(0.0, most));
            (first as i32, (last - first) as i32)
        };
        let (x, width) = side(left, width, self.width());
        let (y, height) = side(top, height, self.height());
        Rect::new(x, y, width, height)
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

    /// How the pixels lie.
    #[must_use]
    pub fn info(&self) -> PixelInfo {
        self.info
    }
}

#[cfg(test)]
mod tests {
    use opencv::core::{Mat, MatTraitConstManual};

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
