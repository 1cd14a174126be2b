//! What a plugin may do with a frame that it refers to. Nothing here looks at the host: a frame lives as long as a
//! reference to it, whatever becomes of the stage.

use std::ptr::null;

use flowpipe_abi as abi;

use crate::frame::Frame;

/// The host's extension `flowpipe.frames/1`.
pub(crate) static TABLE: abi::Frames = abi::Frames {
    struct_size: size_of::<abi::Frames>() as u32,
    reserved: 0,
    add_reference,
    release,
    info,
    read,
    write,
};

pub(crate) unsafe extern "C" fn frame_ref(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) -> *mut abi::Frame {
    // SAFETY: the border demands that the caller holds a reference.
    if let Some(held) = unsafe { Frame::from_abi(frame) } {
        let _ = held.clone().into_abi();
        let _ = held.into_abi();
    }
    frame
}

pub(crate) unsafe extern "C" fn frame_unref(_: *const abi::Host, frame: *mut abi::Frame) {
    // SAFETY: the border demands that the caller holds a reference, which it gives up here.
    drop(unsafe { Frame::from_abi(frame) });
}

pub(crate) unsafe extern "C" fn frame_info(
    _: *const abi::Host,
    frame: *const abi::Frame,
    info: *mut abi::FrameInfo,
) {
    // SAFETY: the border demands that the caller holds a reference, and a writable info.
    let (held, info) = unsafe { (Frame::from_abi(frame.cast_mut()), info.as_mut()) };
    if let (Some(held), Some(info)) = (&held, info) {
        // Its fields are those of the first minor: a smaller one can't be filled in.
        if info.struct_size as usize >= size_of::<abi::FrameInfo>() {
            *info = abi::FrameInfo {
                struct_size: info.struct_size,
                ..held.info()
            };
        }
    }
    std::mem::forget(held);
}

pub(crate) unsafe extern "C" fn frame_read(
    _: *const abi::Host,
    frame: *const abi::Frame,
) -> *const u8 {
    // SAFETY: the border demands that the caller holds a reference.
    let held = unsafe { Frame::from_abi(frame.cast_mut()) };
    let pixels = held
        .as_ref()
        .map_or(std::ptr::null(), |held| held.pixels().as_ptr());
    std::mem::forget(held);
    pixels
}

pub(crate) unsafe extern "C" fn frame_write(
    _: *const abi::Host,
    frame: *mut *mut abi::Frame,
) -> *mut u8 {
    // SAFETY: the border demands a writable pointer to a reference that the caller holds.
    let Some((place, mut held)) = (unsafe {
        frame
            .as_mut()
            .and_then(|place| Frame::from_abi(*place).map(|held| (place, held)))
    }) else {
        return std::ptr::null_mut();
    };
    let pixels = held.write();
    *place = held.into_abi();
    pixels.map_or(std::ptr::null_mut(), |pixels| pixels.as_ptr())
}

unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
    // SAFETY: the border demands the same of both.
    unsafe { frame_ref(null(), frame) }
}

unsafe extern "C" fn release(frame: *mut abi::Frame) {
    // SAFETY: the border demands the same of both.
    unsafe { frame_unref(null(), frame) }
}

unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
    // SAFETY: the border demands the same of both.
    unsafe { frame_info(null(), frame, info) }
}

unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
    // SAFETY: the border demands the same of both.
    unsafe { frame_read(null(), frame) }
}

unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
    // SAFETY: the border demands the same of both.
    unsafe { frame_write(null(), frame) }
}
