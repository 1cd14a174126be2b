//! One picture, decoded straight into a frame of the host.

use std::path::Path;

use flowpipe_plugin::{Format, Frame, FrameSink, Result};
use image::{ColorType, DynamicImage, ImageDecoder, ImageReader};

/// Decodes a file. Its kind is told by its first bytes, not by its name. Pictures of 8 bits keep
/// their layout, others become RGB.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn decode(path: &Path, sink: &FrameSink<'_, '_>) -> Result<Frame> {
    decode_unnamed(path, sink).map_err(|error| error.context(path.display()))
}

fn decode_unnamed(path: &Path, sink: &FrameSink<'_, '_>) -> Result<Frame> {
    let decoder = ImageReader::open(path)?
        .with_guessed_format()?
        .into_decoder()?;
    let (width, height) = decoder.dimensions();
    let format = match decoder.color_type() {
        ColorType::L8 => Format::Grey8,
        ColorType::Rgb8 => Format::Rgb8,
        ColorType::Rgba8 => Format::Rgba8,
        _ => {
            let picture = DynamicImage::from_decoder(decoder)?.into_rgb8();
            let mut frame = sink.new_frame(Format::Rgb8, width, height)?;
            frame.pixels_mut()?.copy_from_slice(picture.as_raw());
            return Ok(frame);
        }
    };
    let mut frame = sink.new_frame(format, width, height)?;
    decoder.read_image(frame.pixels_mut()?)?;
    Ok(frame)
}
