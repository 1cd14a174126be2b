//! A picture as the bytes of a file.

use flowpipe_plugin::{Error, Result};
use image::ImageEncoder as _;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;

use crate::pattern::Kind;
use crate::pixels::PlainPixels;

/// Encodes a picture.
///
/// # Errors
/// When it is too large for the kind of file.
pub fn encode(pixels: &PlainPixels, kind: Kind, quality: u8) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let PlainPixels {
        width,
        height,
        colour,
        ref bytes,
    } = *pixels;
    let encoded = match kind {
        Kind::Png => PngEncoder::new(&mut file).write_image(bytes, width, height, colour),
        Kind::Jpeg => JpegEncoder::new_with_quality(&mut file, quality)
            .write_image(bytes, width, height, colour),
    };
    encoded.map_err(|error| {
        Error::from(error).context(format!("a frame of {width} x {height} pixels"))
    })?;
    Ok(file)
}
