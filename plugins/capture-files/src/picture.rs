//! One picture, decoded straight into a frame of the host.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use flowpipe_plugin::{Error, Format, Frame, FrameSink, Result};
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader};

/// Bytes of a decoded picture, at most: 16,384 by 8,192 pixels with four channels.
const MOST_BYTES: u64 = 512 << 20;

/// Bytes of a decoded picture from each byte of its file, at most: Deflate makes 1,032 of one, and of a pixel of one
/// bit come four bytes. JPEG stays far below.
const MOST_FROM_A_BYTE: u64 = 1_032 * 32;

/// Decodes a file. Its first bytes decide its kind, not its name. Pictures of 8 bits keep
/// their layout, others become RGB. A photograph with an orientation is turned upright.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn decode(path: &Path, sink: &FrameSink<'_, '_>) -> Result<Frame> {
    decode_unnamed(path, sink).map_err(|error| error.context(path.display()))
}

fn decode_unnamed(path: &Path, sink: &FrameSink<'_, '_>) -> Result<Frame> {
    let metadata = std::fs::metadata(path)?;
    // A device or a pipe may never end.
    if !metadata.is_file() {
        return Err(Error::new("this is no regular file"));
    }
    let file = File::open(path)?;
    let reader = ImageReader::new(BufReader::new(file)).with_guessed_format()?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err(Error::new("this is no PNG or JPEG picture"));
    }
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > MOST_BYTES {
        return Err(Error::new(format!(
            "a picture of {width} by {height} pixels is too large"
        )));
    }
    // A few bytes that declare a large picture must not allocate a large picture's memory.
    if decoder.total_bytes() / MOST_FROM_A_BYTE > metadata.len() {
        return Err(Error::new(format!(
            "a picture of {width} by {height} pixels can't be in {} bytes: the file is cut off",
            metadata.len()
        )));
    }
    // A malformed orientation is no reason to refuse a picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let format = match (decoder.color_type(), orientation) {
        (ColorType::L8, Orientation::NoTransforms) => Format::Grey8,
        (ColorType::Rgb8, Orientation::NoTransforms) => Format::Rgb8,
        (ColorType::Rgba8, Orientation::NoTransforms) => Format::Rgba8,
        _ => {
            let mut picture = DynamicImage::from_decoder(decoder)?;
            picture.apply_orientation(orientation);
            let picture = picture.into_rgb8();
            let (width, height) = picture.dimensions();
            let mut frame = sink.new_frame(Format::Rgb8, width, height)?;
            frame.pixels_mut()?.copy_from_slice(picture.as_raw());
            return Ok(frame);
        }
    };
    let mut frame = sink.new_frame(format, width, height)?;
    decoder.read_image(frame.pixels_mut()?)?;
    Ok(frame)
}
