//! A frame as recordings take it.

use flowpipe_abi as abi;
use flowpipe_host::frame::Frame;
use flowpipe_recording::{Encoding, Pixels};

/// A frame's pixels as recordings take them. `None`: a format that they do not know.
pub fn pixels(frame: &Frame) -> Option<Pixels<'_>> {
    let shape = frame.shape();
    Some(Pixels {
        encoding: match shape.format {
            abi::FORMAT_BGRA8 => Encoding::Bgra8,
            abi::FORMAT_RGBA8 => Encoding::Rgba8,
            abi::FORMAT_BGR8 => Encoding::Bgr8,
            abi::FORMAT_RGB8 => Encoding::Rgb8,
            abi::FORMAT_GREY8 => Encoding::Grey8,
            _ => return None,
        },
        width: shape.width,
        height: shape.height,
        stride: u32::try_from(shape.stride).ok()?,
        bytes: frame.pixels(),
    })
}
