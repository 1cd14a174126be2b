//! The frames that the plugin refers to. This process counts their references; the host gets the first and the last
//! one. Frames of other stages are read-only. The plugin's own frames are in memory that this process and the host can
//! write; when one is emitted, the host copies it, so that later writes don't reach other stages.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flowpipe_abi as abi;
use flowpipe_host::frame::Layout;
use flowpipe_host::frame::memory::{Access, Mapping};
use flowpipe_host::frame::released::ReleasedCounts;
use flowpipe_host::table::frame_functions::{
    self, FrameFunctions, fill_in, fill_in_buffer, read_buffer_info,
};
use flowpipe_sync::lock;

use crate::child::table::child;
use crate::child::{CHILD, Child};
use crate::protocol::{NewFrameReply, Request, WireFrame};

static RELEASED: ReleasedCounts = ReleasedCounts::new();

/// The target of the ABI's frame pointer, in an [`Arc`].
pub(super) struct ChildFrame {
    wire: WireFrame,
    block: Arc<Mapping>,
    /// Whether the plugin may write there.
    access: Access,
    /// The plugin got a pointer to write since it was last emitted.
    is_written: AtomicBool,
}

impl ChildFrame {
    /// A frame with one reference.
    pub(super) fn new(wire: WireFrame, block: Arc<Mapping>, access: Access) -> NonNull<Self> {
        let frame = Arc::new(Self {
            wire,
            block,
            access,
            is_written: AtomicBool::new(false),
        });
        // SAFETY: an `Arc` is never null.
        unsafe { NonNull::new_unchecked(Arc::into_raw(frame).cast_mut()) }
    }

    /// The bytes, to write.
    fn bytes_mut(&self) -> *mut u8 {
        self.is_written.store(true, Ordering::Relaxed);
        self.block.pointer().as_ptr()
    }

    /// The handle of an emitted frame, and whether its pixels may have changed since it was last emitted.
    ///
    /// # Safety
    /// The caller holds a reference.
    pub(super) unsafe fn emitted(frame: *mut abi::Frame) -> Option<(u64, bool)> {
        // SAFETY: by the contract above.
        let frame = unsafe { frame.cast::<Self>().as_ref() }?;
        let is_written = frame.is_written.swap(false, Ordering::Relaxed);
        Some((frame.wire.handle, is_written))
    }
}

/// Releases one reference. True: it was the last.
///
/// # Safety
/// The caller holds it and does not use it again.
pub(super) unsafe fn release(frame: NonNull<ChildFrame>) -> bool {
    // SAFETY: by the contract above, and since `new` gave out the pointer of an `Arc`.
    let frame = unsafe { Arc::from_raw(frame.as_ptr()) };
    if Arc::strong_count(&frame) == 1 {
        RELEASED.keep(&frame);
    }
    Arc::into_inner(frame).is_some()
}

/// The host's extension `flowpipe.frames/1`.
pub(super) static TABLE: abi::Frames = frame_functions::extension::<ChildFrame>();

/// The host's extension `flowpipe.buffer/1`.
pub(super) static BUFFERS: abi::Buffers = frame_functions::buffer_extension::<ChildFrame>();

/// Allocates a frame that this process can write.
pub(super) fn new_frame(child: &Child, layout: Layout) -> Option<NonNull<ChildFrame>> {
    let mut side = lock(&child.side);
    side.send(&Request::NewFrame(layout), b"", &[]).ok()?;
    let answer = side.receive::<NewFrameReply>().ok()??.0;
    child.forget(&answer.forget);
    let wire = answer.frame?;
    let block = child.block(&wire, &mut side, Access::Write).ok()?;
    Some(ChildFrame::new(wire, block, Access::Write))
}

// SAFETY: the ABI's frame pointer has such a frame as its target here; any thread may use its count and memory.
unsafe impl FrameFunctions for ChildFrame {
    unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
        if !frame.is_null() {
            // SAFETY: the ABI demands that the caller holds a reference.
            unsafe { Arc::increment_strong_count(frame.cast::<Self>()) };
        }
        frame
    }

    unsafe extern "C" fn release(frame: *mut abi::Frame) {
        let Some(frame) = NonNull::new(frame.cast::<Self>()) else {
            return;
        };
        // SAFETY: the ABI demands that the caller holds a reference, which it releases here.
        let (handle, last) = unsafe { (frame.as_ref().wire.handle, release(frame)) };
        if last && let Some(child) = CHILD.get() {
            // An error means that the host is gone; then this process ends.
            let _ = lock(&child.side).send(&Request::Release(handle), b"", &[]);
        }
    }

    unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
        // SAFETY: the ABI demands that the caller holds a reference, and an info that is writable up to its size.
        unsafe {
            if let Some(target) = frame.cast::<Self>().as_ref() {
                fill_in(info, target.wire.layout.info());
            }
        }
    }

    unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
        // SAFETY: the ABI demands that the caller holds a reference.
        unsafe { frame.cast::<Self>().as_ref() }
            .map_or(std::ptr::null(), |target| target.block.pointer().as_ptr())
    }

    unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
        // SAFETY: the ABI demands a writable pointer to a reference that the caller holds.
        let Some(place) = (unsafe { frame.as_mut() }).filter(|place| !place.is_null()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: as above; the caller keeps its reference.
        let mut target = ManuallyDrop::new(unsafe { Arc::from_raw(place.cast::<Self>()) });
        let is_only = Arc::get_mut(&mut target).is_some();
        if is_only && target.access == Access::Write {
            return target.bytes_mut();
        }
        let layout = target.wire.layout;
        let Some(copy) = CHILD.get().and_then(|child| new_frame(child, layout)) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the copy is new, and nothing else refers to it.
        let bytes = unsafe { copy.as_ref() }.bytes_mut();
        // SAFETY: both have this many bytes: the host allocates a frame of the requested layout, and a new one overlaps
        // no other.
        unsafe { bytes.copy_from_nonoverlapping(target.block.pointer().as_ptr(), layout.size()) };
        let old = std::mem::replace(place, copy.as_ptr().cast());
        // SAFETY: the caller holds a reference to the old one, and this function releases it.
        unsafe { Self::release(old) };
        bytes
    }

    unsafe extern "C" fn create_buffer(
        host: *const abi::Host,
        info: *const abi::BufferInfo,
    ) -> *mut abi::Frame {
        // SAFETY: the ABI demands the host's table, and an info that is readable up to its size.
        let (child, layout) = unsafe { (child(host), read_buffer_info(info)) };
        let frame = child
            .zip(layout)
            .and_then(|(child, layout)| new_frame(child, layout.into()));
        frame.map_or(std::ptr::null_mut(), |frame| frame.as_ptr().cast())
    }

    unsafe extern "C" fn buffer_info(
        frame: *const abi::Frame,
        info: *mut abi::BufferInfo,
    ) -> abi::Status {
        // SAFETY: the ABI demands that the caller holds a reference, and an info that is writable up to its size.
        unsafe {
            let target = frame.cast::<Self>().as_ref();
            let layout = target.and_then(|target| match &target.wire.layout {
                Layout::Buffer(layout) => Some(layout.info()),
                Layout::Picture(_) => None,
            });
            fill_in_buffer(info, layout)
        }
    }
}
