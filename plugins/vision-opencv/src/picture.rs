//! A picture in somebody else's memory, read in place.

use flowpipe_plugin::{Format, PixelInfo};
use opencv::core::{Mat, MatTraitConst, Rect};
use opencv::imgproc;
use thiserror::Error;

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// Pixels and how they lie. Nothing is copied.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    pixels: &'a [u8],
    info: PixelInfo,
    /// Bytes of one pixel.
    step: usize,
}

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
    /// Checks that the pixels lie as `info` says.
    ///
    /// # Errors
    /// See [`PictureError`].
    pub fn new(pixels: &'a [u8], info: PixelInfo) -> Result<Self, PictureError> {
        let PixelInfo {
            format,
            width,
            height,
            stride,
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
        Ok(Self { pixels, info, step })
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
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> Option<Rgb> {
        // A cast keeps NaN and negative numbers out only with this comparison.
        (x >= 0.0 && y >= 0.0)
            .then(|| self.pixel(x as usize, y as usize))
            .flatten()
    }

    /// The colour at a point in frame pixels, mixed from the four pixels around it. `None` where one
    /// of them is outside of the picture.
    #[must_use]
    pub fn between(&self, x: f64, y: f64) -> Option<Rgb> {
        let (left, top) = ((x - 0.5).floor(), (y - 0.5).floor());
        let (right, low) = (x - 0.5 - left, y - 0.5 - top);
        let corner = |dx: f64, dy: f64| self.at(left + dx, top + dy);
        let corners = [
            corner(0.0, 0.0)?,
            corner(1.0, 0.0)?,
            corner(0.0, 1.0)?,
            corner(1.0, 1.0)?,
        ];
        let weights = [
            (1.0 - right) * (1.0 - low),
            right * (1.0 - low),
            (1.0 - right) * low,
            right * low,
        ];
        Some(std::array::from_fn(|channel| {
            let mixed = corners
                .iter()
                .zip(weights)
                .map(|(c, w)| f64::from(c[channel]) * w);
            mixed.sum::<f64>().round() as u8
        }))
    }

    /// The colour of one pixel, `None` outside of the picture.
    #[must_use]
    pub fn pixel(&self, x: usize, y: usize) -> Option<Rgb> {
        if x >= self.width() || y >= self.height() {
            return None;
        }
        let start = y * self.info.stride + x * self.step;
        let pixel = &self.pixels[start..start + self.step];
        Some(match self.info.format {
            Format::Bgra8 | Format::Bgr8 => [pixel[2], pixel[1], pixel[0]],
            Format::Rgba8 | Format::Rgb8 => [pixel[0], pixel[1], pixel[2]],
            Format::Grey8 => [pixel[0]; 3],
        })
    }

    /// Writes the picture in grey.
    ///
    /// # Errors
    /// When OpenCV fails, which needs more memory than there is.
    pub fn grey(&self, grey: &mut Mat) -> opencv::Result<()> {
        // Rows of bytes first, then the bytes that are pixels: so any stride is honoured.
        let bytes = Mat::new_rows_cols_with_bytes::<u8>(
            self.info.height as i32,
            self.info.stride as i32,
            self.pixels,
        )?;
        let row = self.info.width as i32 * self.step as i32;
        let used = Mat::roi(&bytes, Rect::new(0, 0, row, self.info.height as i32))?;
        let pixels = used.reshape(self.step as i32, 0)?;
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

#[cfg(test)]
mod tests {
    use opencv::core::MatTraitConstManual;

    use super::*;

    fn info(format: Format, width: u32, height: u32, stride: usize) -> PixelInfo {
        PixelInfo {
            format,
            width,
            height,
            stride,
        }
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
        picture.grey(&mut grey).unwrap();
        assert_eq!(grey.data_typed::<u8>().unwrap(), [2, 5, 8, 11]);
    }
}
