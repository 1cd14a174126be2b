//! Frames in the form that recordings store.

use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{BufferLayout, Frame, Layout, Shape};
use flowpipe_host::message::Message;
use flowpipe_recording::{Elements, Encoding, Payload, PayloadKind, Pixels};

/// Returns a frame's picture or buffer in the form that recordings store. `None`: recordings do not support its format.
pub fn payload(frame: &Frame) -> Option<Payload<'_>> {
    let shape = match frame.layout() {
        Layout::Picture(shape) => shape,
        Layout::Buffer(layout) => {
            return Elements::new(layout.info(), frame.bytes()).map(Payload::Buffer);
        }
    };
    Some(Payload::Picture(Pixels {
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
        bytes: frame.bytes(),
    }))
}

/// Whether a message carries a picture or a buffer. `None`: neither.
pub fn payload_kind(message: &Message) -> Option<PayloadKind> {
    match message.content() {
        Content::Nothing => None,
        Content::Picture => Some(PayloadKind::Picture),
        Content::Buffer(_) => Some(PayloadKind::Buffer),
    }
}

/// Creates a frame from a recorded picture or buffer. `None`: out of memory, or invalid.
pub(crate) fn frame(pool: &Arc<Pool>, owner: u32, payload: &Payload<'_>) -> Option<Frame> {
    let layout = match payload {
        Payload::Picture(pixels) => Layout::from(shape(pixels)?),
        Payload::Buffer(elements) => BufferLayout::new(elements.info()).ok()?.into(),
    };
    Frame::from_bytes(pool, layout, owner, payload.bytes())
}

fn shape(pixels: &Pixels<'_>) -> Option<Shape> {
    Shape::new(&abi::FrameInfo {
        struct_size: size_of::<abi::FrameInfo>() as u32,
        format: match pixels.encoding {
            Encoding::Bgra8 => abi::FORMAT_BGRA8,
            Encoding::Rgba8 => abi::FORMAT_RGBA8,
            Encoding::Bgr8 => abi::FORMAT_BGR8,
            Encoding::Rgb8 => abi::FORMAT_RGB8,
            Encoding::Grey8 => abi::FORMAT_GREY8,
        },
        width: pixels.width,
        height: pixels.height,
        stride: u64::from(pixels.stride),
        size: 0,
    })
}
