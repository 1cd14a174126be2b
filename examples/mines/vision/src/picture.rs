//! A frame in OpenCV's memory, and where it has which colour.

use flowpipe_plugin::{Error, Format, PixelInfo, Result};
use opencv::core::{self, Mat, Rect, Scalar};
use opencv::imgproc;
use opencv::prelude::*;

/// Pixels as blue, green and red.
pub struct Picture(Mat);

/// Which pixels have a colour.
pub struct Mask(Mat);

impl Picture {
    /// # Errors
    /// When the pixels do not lie as `info` describes, or memory is short.
    pub fn new(pixels: &[u8], info: PixelInfo) -> Result<Self> {
        let PixelInfo {
            format,
            width,
            height,
            stride,
            ..
        } = info;
        let bytes = format.bytes_per_pixel();
        let row = width as usize * bytes;
        let pixels = stride
            .checked_mul(height as usize)
            .and_then(|size| pixels.get(..size));
        let Some(pixels) = pixels.filter(|_| row > 0 && row <= stride) else {
            return Err(Error::bad_message(format!(
                "a frame of {width} x {height} without that many pixels"
            )));
        };
        // Rows of bytes first, then the bytes that are pixels: so any stride is honoured.
        let rows = Mat::new_rows_cols_with_bytes::<u8>(
            i32::try_from(height)?,
            i32::try_from(stride)?,
            pixels,
        )?;
        let rows = Mat::roi(
            &rows,
            Rect::new(0, 0, i32::try_from(row)?, i32::try_from(height)?),
        )?;
        let source = rows.reshape(bytes as i32, 0)?;
        let code = match format {
            Format::Bgra8 => imgproc::COLOR_BGRA2BGR,
            Format::Rgba8 => imgproc::COLOR_RGBA2BGR,
            Format::Rgb8 => imgproc::COLOR_RGB2BGR,
            Format::Grey8 => imgproc::COLOR_GRAY2BGR,
            Format::Bgr8 => return Ok(Self(source.try_clone()?)),
        };
        let mut bgr = Mat::default();
        imgproc::cvt_color(&source, &mut bgr, code, 0)?;
        Ok(Self(bgr))
    }

    /// The pixels whose red, green and blue are so much apart from a colour at most.
    ///
    /// # Errors
    /// When memory is short.
    pub fn mask(&self, [red, green, blue]: [u8; 3], tolerance: u8) -> Result<Mask> {
        let channels = [blue, green, red].map(f64::from);
        let bound =
            |by: f64| Scalar::new(channels[0] + by, channels[1] + by, channels[2] + by, 0.0);
        let mut mask = Mat::default();
        let tolerance = f64::from(tolerance);
        core::in_range(&self.0, &bound(-tolerance), &bound(tolerance), &mut mask)?;
        Ok(Mask(mask))
    }
}

impl Mask {
    /// How many pixels of a rectangle, which must lie in the picture, have the colour.
    ///
    /// # Errors
    /// When it does not.
    pub fn count(&self, rect: Rect) -> Result<i32> {
        Ok(core::count_non_zero(&Mat::roi(&self.0, rect)?)?)
    }

    /// The rectangle around the largest connected area of this colour or another.
    ///
    /// # Errors
    /// When memory is short.
    pub fn largest_area(&self, other: &Self) -> Result<Option<Rect>> {
        let mut either = Mat::default();
        core::bitwise_or(&self.0, &other.0, &mut either, &core::no_array())?;
        let mut contours = core::Vector::<core::Vector<core::Point>>::new();
        imgproc::find_contours_def(
            &either,
            &mut contours,
            imgproc::RETR_EXTERNAL,
            imgproc::CHAIN_APPROX_SIMPLE,
        )?;
        let mut largest = None::<Rect>;
        for contour in contours {
            let around = imgproc::bounding_rect(&contour)?;
            if largest.is_none_or(|largest| around.area() > largest.area()) {
                largest = Some(around);
            }
        }
        Ok(largest)
    }
}
