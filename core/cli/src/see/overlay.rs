//! What vision read, drawn over the picture.

use flowpipe_abi as abi;
use flowpipe_game::render::{Pixels, overlay, overlay_shapes};
use flowpipe_host::frame::Frame;
use flowpipe_puzzle::message::Reading;

use crate::see::picture::VisionAnswer;

/// The picture with the board, or with the reason why there is none, as PNG; of other vision, with the shapes that it
/// emits.
///
/// # Errors
/// When the picture is too large to draw on, or the shapes can't be drawn.
pub fn png(picture: &Frame, answer: &VisionAnswer<'_>) -> Result<Vec<u8>, String> {
    let pixels = pixels(picture)?;
    let drawn = match answer {
        VisionAnswer::Reading(Reading::Board(seen)) => overlay::board(pixels, seen),
        VisionAnswer::Reading(Reading::Refused { step, reason, .. }) => {
            overlay::caption(pixels, &format!("{step}: {reason}"))
        }
        VisionAnswer::Messages(messages) => match messages.overlay()? {
            Some(overlay) => overlay_shapes::draw(pixels, &overlay.shapes),
            None => overlay::caption(pixels, "the plugin emits no flowpipe.overlay/1"),
        },
    };
    encode(&drawn.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// A copy, with opaque pixels.
fn pixels(picture: &Frame) -> Result<Pixels, String> {
    let shape = picture.picture().ok_or("a buffer in place of a picture")?;
    let (step, [red, green, blue]) = match shape.format {
        abi::FORMAT_BGRA8 => (4, [2, 1, 0]),
        abi::FORMAT_RGBA8 => (4, [0, 1, 2]),
        abi::FORMAT_BGR8 => (3, [2, 1, 0]),
        abi::FORMAT_RGB8 => (3, [0, 1, 2]),
        abi::FORMAT_GREY8 => (1, [0; 3]),
        other => return Err(format!("a picture of the unknown format {other}")),
    };
    let row_bytes = shape.width as usize * step;
    let rows = picture.bytes().chunks(shape.stride.max(1) as usize);
    let pixels = rows.flat_map(|row| row[..row_bytes.min(row.len())].chunks_exact(step));
    let rgba = pixels.flat_map(|pixel| [pixel[red], pixel[green], pixel[blue], u8::MAX]);
    Ok(Pixels {
        width: shape.width,
        height: shape.height,
        rgba: rgba.collect(),
    })
}

fn encode(pixels: &Pixels) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.rgba)?;
    writer.finish()?;
    Ok(bytes)
}
