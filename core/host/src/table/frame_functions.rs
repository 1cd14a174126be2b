//! What a plugin may do with a frame that it refers to. Nothing here looks at the host: a frame lives as long as a
//! reference to it, whatever becomes of the stage.

use flowpipe_abi as abi;

use crate::frame::Frame;

/// The frame functions of one process: of the host's own frames, or of those of a stage's process.
///
/// # Safety
/// The functions do what `flowpipe.h` says of them, on any thread, while the caller holds the references that it says.
pub unsafe trait FrameFunctions {
    /// As [`abi::Frames::add_reference`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame;
    /// As [`abi::Frames::release`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn release(frame: *mut abi::Frame);
    /// As [`abi::Frames::info`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo);
    /// As [`abi::Frames::read`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8;
    /// As [`abi::Frames::write`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8;
}

/// The host's extension `flowpipe.frames/1`, of the host's own frames.
pub(crate) static TABLE: abi::Frames = extension::<Frame>();

/// The host's extension `flowpipe.frames/1`.
pub const fn extension<F: FrameFunctions>() -> abi::Frames {
    abi::Frames {
        struct_size: size_of::<abi::Frames>() as u32,
        reserved: 0,
        add_reference: F::add_reference,
        release: F::release,
        info: F::info,
        read: F::read,
        write: F::write,
    }
}

/// Puts the same functions into a host's table.
pub fn set<F: FrameFunctions>(table: &mut abi::Host) {
    table.frame_ref = frame_ref::<F>;
    table.frame_unref = frame_unref::<F>;
    table.frame_info = frame_info::<F>;
    table.frame_read = frame_read::<F>;
    table.frame_write = frame_write::<F>;
}

/// Fills in what a plugin asks about a frame.
///
/// # Safety
/// `info` is null, or points at an info that says its size and is writable as far as that.
pub unsafe fn fill_in(info: *mut abi::FrameInfo, with: abi::FrameInfo) {
    // Its fields are those of the first minor: a smaller one can't be filled in. There is no reference before the size
    // is known, for a reference stands for the whole struct.
    // SAFETY: by the contract above, struct_size can be read, and the rest written when it is large enough.
    unsafe {
        if info.is_null() || ((*info).struct_size as usize) < size_of::<abi::FrameInfo>() {
            return;
        }
        let struct_size = (*info).struct_size;
        info.write(abi::FrameInfo {
            struct_size,
            ..with
        });
    }
}

pub(crate) unsafe extern "C" fn frame_ref<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) -> *mut abi::Frame {
    // SAFETY: the border demands the same of both.
    unsafe { F::add_reference(frame) }
}

pub(crate) unsafe extern "C" fn frame_unref<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) {
    // SAFETY: the border demands the same of both.
    unsafe { F::release(frame) }
}

pub(crate) unsafe extern "C" fn frame_info<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *const abi::Frame,
    info: *mut abi::FrameInfo,
) {
    // SAFETY: the border demands the same of both.
    unsafe { F::info(frame, info) }
}

pub(crate) unsafe extern "C" fn frame_read<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *const abi::Frame,
) -> *const u8 {
    // SAFETY: the border demands the same of both.
    unsafe { F::read(frame) }
}

pub(crate) unsafe extern "C" fn frame_write<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut *mut abi::Frame,
) -> *mut u8 {
    // SAFETY: the border demands the same of both.
    unsafe { F::write(frame) }
}

// SAFETY: a frame pointer of the border points at what `Frame` does, whose count and memory any thread may use.
unsafe impl FrameFunctions for Frame {
    unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
        // SAFETY: the border demands that the caller holds a reference.
        if let Some(held) = unsafe { Frame::from_abi(frame) } {
            let _ = held.clone().into_abi();
            let _ = held.into_abi();
        }
        frame
    }

    unsafe extern "C" fn release(frame: *mut abi::Frame) {
        // SAFETY: the border demands that the caller holds a reference, which it gives up here.
        drop(unsafe { Frame::from_abi(frame) });
    }

    unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
        // SAFETY: the border demands that the caller holds a reference, and an info that is writable as far as it says.
        unsafe {
            let held = Frame::from_abi(frame.cast_mut());
            if let Some(held) = &held {
                fill_in(info, held.info());
            }
            std::mem::forget(held);
        }
    }

    unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
        // SAFETY: the border demands that the caller holds a reference.
        let held = unsafe { Frame::from_abi(frame.cast_mut()) };
        let pixels = held
            .as_ref()
            .map_or(std::ptr::null(), |held| held.pixels().as_ptr());
        std::mem::forget(held);
        pixels
    }

    unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
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
}
