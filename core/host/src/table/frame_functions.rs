//! The functions of a frame that a plugin refers to. None of them uses the host: a frame is valid as long as a
//! reference to it, whatever happens to the stage.

use flowpipe_abi as abi;

use crate::frame::{BufferLayout, Frame, Layout};
use crate::table::Host;

/// The frame functions of one process: of the host's own frames, or of those of a stage's process.
///
/// # Safety
/// The functions do what `flowpipe.h` specifies, on any thread, while the caller holds the references that it demands.
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
    /// As [`abi::Buffers::create`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn create_buffer(
        host: *const abi::Host,
        info: *const abi::BufferInfo,
    ) -> *mut abi::Frame;
    /// As [`abi::Buffers::info`].
    ///
    /// # Safety
    /// As the ABI demands of its caller.
    unsafe extern "C" fn buffer_info(
        frame: *const abi::Frame,
        info: *mut abi::BufferInfo,
    ) -> abi::Status;
}

/// The host's extension `flowpipe.frames/1`, of the host's own frames.
pub(crate) static TABLE: abi::Frames = extension::<Frame>();

/// The host's extension `flowpipe.buffer/1`, of the host's own frames.
pub(crate) static BUFFERS: abi::Buffers = buffer_extension::<Frame>();

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

/// The host's extension `flowpipe.buffer/1`.
pub const fn buffer_extension<F: FrameFunctions>() -> abi::Buffers {
    abi::Buffers {
        struct_size: size_of::<abi::Buffers>() as u32,
        reserved: 0,
        create: F::create_buffer,
        info: F::buffer_info,
    }
}

/// Sets the same functions in a host's table.
pub fn set<F: FrameFunctions>(table: &mut abi::Host) {
    table.frame_ref = frame_ref::<F>;
    table.frame_unref = frame_unref::<F>;
    table.frame_info = frame_info::<F>;
    table.frame_read = frame_read::<F>;
    table.frame_write = frame_write::<F>;
}

/// Fills in a plugin's frame info.
///
/// # Safety
/// `info` is null, or points at an info that states its size and is writable up to it.
pub unsafe fn fill_in(info: *mut abi::FrameInfo, with: abi::FrameInfo) {
    // Its fields are those of the first minor: a smaller one can't be filled in. No reference is created before the
    // size is known: a reference requires that the whole struct is valid.
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

/// Reads a plugin's description of a new buffer. `None`: it is null, or no layout of a buffer.
///
/// # Safety
/// `info` is null, or points at an info that states its size and is readable up to it.
pub unsafe fn read_buffer_info(info: *const abi::BufferInfo) -> Option<BufferLayout> {
    // As in `fill_in`, the size comes before a reference.
    // SAFETY: by the contract above.
    let info = unsafe {
        let is_whole =
            !info.is_null() && (*info).struct_size as usize >= size_of::<abi::BufferInfo>();
        is_whole.then(|| &*info)?
    };
    BufferLayout::new(info).ok()
}

/// Fills in a plugin's buffer info, and returns the status. `with`: `None` for a picture.
///
/// # Safety
/// `info` is null, or points at an info that states its size and is writable up to it.
pub unsafe fn fill_in_buffer(
    info: *mut abi::BufferInfo,
    with: Option<&abi::BufferInfo>,
) -> abi::Status {
    let Some(with) = with else {
        return abi::WRONG_TYPE;
    };
    // SAFETY: by the contract above, struct_size can be read, and the rest written when it is large enough.
    unsafe {
        if info.is_null() || ((*info).struct_size as usize) < size_of::<abi::BufferInfo>() {
            return abi::ERROR;
        }
        let struct_size = (*info).struct_size;
        info.write(abi::BufferInfo {
            struct_size,
            ..*with
        });
    }
    abi::OK
}

pub(crate) unsafe extern "C" fn frame_ref<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) -> *mut abi::Frame {
    // SAFETY: the ABI demands the same of both.
    unsafe { F::add_reference(frame) }
}

pub(crate) unsafe extern "C" fn frame_unref<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) {
    // SAFETY: the ABI demands the same of both.
    unsafe { F::release(frame) }
}

pub(crate) unsafe extern "C" fn frame_info<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *const abi::Frame,
    info: *mut abi::FrameInfo,
) {
    // SAFETY: the ABI demands the same of both.
    unsafe { F::info(frame, info) }
}

pub(crate) unsafe extern "C" fn frame_read<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *const abi::Frame,
) -> *const u8 {
    // SAFETY: the ABI demands the same of both.
    unsafe { F::read(frame) }
}

pub(crate) unsafe extern "C" fn frame_write<F: FrameFunctions>(
    _: *const abi::Host,
    frame: *mut *mut abi::Frame,
) -> *mut u8 {
    // SAFETY: the ABI demands the same of both.
    unsafe { F::write(frame) }
}

// SAFETY: the ABI's frame pointer has the target of `Frame`, whose count and memory any thread may use.
unsafe impl FrameFunctions for Frame {
    unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
        // SAFETY: the ABI demands that the caller holds a reference.
        if let Some(frame) = unsafe { Frame::from_abi(frame) } {
            let _ = frame.clone().into_abi();
            let _ = frame.into_abi();
        }
        frame
    }

    unsafe extern "C" fn release(frame: *mut abi::Frame) {
        // SAFETY: the ABI demands that the caller holds a reference, which it releases here.
        drop(unsafe { Frame::from_abi(frame) });
    }

    unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
        // SAFETY: the ABI demands that the caller holds a reference, and an info that is writable up to its size.
        unsafe {
            let frame = Frame::from_abi(frame.cast_mut());
            if let Some(frame) = &frame {
                fill_in(info, frame.info());
            }
            std::mem::forget(frame);
        }
    }

    unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
        // SAFETY: the ABI demands that the caller holds a reference.
        let frame = unsafe { Frame::from_abi(frame.cast_mut()) };
        let bytes = frame
            .as_ref()
            .map_or(std::ptr::null(), |frame| frame.bytes().as_ptr());
        std::mem::forget(frame);
        bytes
    }

    unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
        // SAFETY: the ABI demands a writable pointer to a reference that the caller holds.
        let Some((place, mut owned)) = (unsafe {
            frame
                .as_mut()
                .and_then(|place| Frame::from_abi(*place).map(|owned| (place, owned)))
        }) else {
            return std::ptr::null_mut();
        };
        let bytes = owned.write();
        *place = owned.into_abi();
        bytes.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr())
    }
    unsafe extern "C" fn create_buffer(
        host: *const abi::Host,
        info: *const abi::BufferInfo,
    ) -> *mut abi::Frame {
        // SAFETY: the ABI demands the host's table, and an info that is readable up to its size.
        let (host, layout) = unsafe { (Host::from_abi(host), read_buffer_info(info)) };
        let frame = host
            .zip(layout)
            .and_then(|(host, layout)| Frame::new(host.pool(), layout, host.owner()));
        frame.map_or(std::ptr::null_mut(), Frame::into_abi)
    }

    unsafe extern "C" fn buffer_info(
        frame: *const abi::Frame,
        info: *mut abi::BufferInfo,
    ) -> abi::Status {
        // SAFETY: the ABI demands that the caller holds a reference, and an info that is writable up to its size.
        unsafe {
            let frame = Frame::from_abi(frame.cast_mut());
            let layout = frame.as_ref().and_then(|frame| match frame.layout() {
                Layout::Buffer(layout) => Some(layout.info()),
                Layout::Picture(_) => None,
            });
            let status = fill_in_buffer(info, layout);
            std::mem::forget(frame);
            status
        }
    }
}
