//! Converts the pixels of the host to a matrix of OpenCV.

use flowpipe_plugin::{Format, PixelInfo};
use opencv::core::{Mat, MatTraitConst, Rect};
use opencv::imgproc;

use crate::error::{ReadError, refuse};

/// The most pixels of a picture: an 8K screen. A reading takes time and memory for each.
const MOST_PIXELS: usize = 7680 * 4320;

/// Converts a picture to red, green and blue. Refuses one that is empty or larger than any screen.
pub fn rgb(pixels: &[u8], info: PixelInfo) -> Result<Mat, ReadError> {
    let (width, height) = (info.width as usize, info.height as usize);
    let count = width.saturating_mul(height);
    if count == 0 || count > MOST_PIXELS {
        return refuse("picture", format!("a picture of {width} x {height} pixels"));
    }
    let step = info.format.bytes_per_pixel();
    let all = info
        .stride
        .checked_mul(height)
        .and_then(|all| pixels.get(..all));
    let (Some(all), Ok(stride), true) =
        (all, i32::try_from(info.stride), width * step <= info.stride)
    else {
        return refuse("picture", "its pixels are not all there");
    };
    // A column is a byte, and a row may end with bytes that are no pixels.
    let bytes = Mat::new_rows_cols_with_bytes::<u8>(height as i32, stride, all)?;
    let used = Mat::roi(
        &bytes,
        Rect::new(0, 0, (width * step) as i32, height as i32),
    )?;
    let picture = used.reshape(step as i32, 0)?;
    let mut rgb = Mat::default();
    let code = match info.format {
        Format::Bgra8 => imgproc::COLOR_BGRA2RGB,
        Format::Rgba8 => imgproc::COLOR_RGBA2RGB,
        Format::Bgr8 => imgproc::COLOR_BGR2RGB,
        Format::Grey8 => imgproc::COLOR_GRAY2RGB,
        Format::Rgb8 => return Ok(picture.try_clone()?),
    };
    imgproc::cvt_color_def(&picture, &mut rgb, code)?;
    Ok(rgb)
}
