//! Snippets from files, within bounds.

use std::io::Cursor;
use std::io::Read;
use std::path::Path;

use flowpipe_plugin::{Error, Result};
use image::error::LimitErrorKind;
use image::{ImageError, ImageFormat, ImageReader, Limits, RgbImage};

/// The shortest and the longest side, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 12..=1024;
/// Bytes of a file, at most.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes that decoding may allocate, at most.
const MOST_ALLOCATED: u64 = 64 << 20;

/// Reads a snippet. The first bytes of the file decide its kind, not its name. What is transparent counts as it is
/// coloured.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn read(path: &str) -> Result<RgbImage> {
    read_unnamed(Path::new(path)).map_err(|error| {
        let text = format!("snippet {path}: {error}");
        Error::bad_config(text)
    })
}

fn read_unnamed(path: &Path) -> Result<RgbImage> {
    // A device or a pipe may never end.
    let file = flowpipe_output::open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::new("a file of more than 16 MiB is no snippet"));
    }
    decode(&bytes)
}

/// Decodes a snippet.
///
/// # Errors
/// What is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<RgbImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err(Error::new("this is no PNG or JPEG picture"));
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(*SIDES.end());
    limits.max_image_height = Some(*SIDES.end());
    limits.max_alloc = Some(MOST_ALLOCATED);
    reader.limits(limits);
    let wrong_size = |size: &str| {
        let (shortest, longest) = (SIDES.start(), SIDES.end());
        Error::new(format!(
            "it has {size} pixels, and each side must have {shortest} to {longest}: cut it out of a screenshot"
        ))
    };
    let picture = match reader.decode() {
        Ok(picture) => picture.into_rgb8(),
        Err(ImageError::Limits(error)) if error.kind() == LimitErrorKind::DimensionError => {
            return Err(wrong_size("too many"));
        }
        Err(error) => return Err(error.into()),
    };
    let (width, height) = picture.dimensions();
    match [width, height].iter().all(|side| SIDES.contains(side)) {
        true => Ok(picture),
        false => Err(wrong_size(&format!("{width} by {height}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_has_a_length_that_can_be_searched() {
        let error = |width: u32, height: u32| {
            let mut bytes = Cursor::new(Vec::new());
            let picture = RgbImage::new(width, height);
            picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
            decode(bytes.get_ref()).err().map(|error| error.to_string())
        };
        assert_eq!(error(12, 1024), None);
        let short = error(11, 40).unwrap();
        assert!(
            short.starts_with("it has 11 by 40 pixels, and each side"),
            "{short}"
        );
        let long = error(40, 1025).unwrap();
        assert!(
            long.starts_with("it has too many pixels, and each side must have 12 to 1024"),
            "{long}"
        );
    }
}
