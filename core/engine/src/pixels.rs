//! Frames in the form that recordings store.

use flowpipe_abi as abi;
use flowpipe_host::frame::Frame;
use flowpipe_recording::{Encoding, Pixels};

/// Returns a frame's pixels in the form that recordings store. `None`: recordings do not support the format.
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
