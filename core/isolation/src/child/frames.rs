//! The frames that the plugin refers to. References are counted here; the host hears of the first and of the last one.
//! What came from others can be read alone. What is made here lies in memory that this process and the host can write; when
//! it is emitted, the host takes a copy, so that nothing written later is seen by others.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flowpipe_abi as abi;
use flowpipe_host::frame::memory::{Access, Mapping};
use flowpipe_host::table::frame_functions::{self, FrameFunctions, fill_in};
use flowpipe_sync::lock;

use crate::child::{CHILD, Child};
use crate::protocol::{self, Answer, Request};

/// What a frame pointer of the border points at.
pub(super) struct Frame {
    references: AtomicUsize,
    told: protocol::Frame,
    block: Arc<Mapping>,
    /// Whether the plugin may write there.
    access: Access,
    /// It was given to be written since it was emitted.
    is_written: AtomicBool,
}

impl Frame {
    /// With one reference.
    pub(super) fn new(told: protocol::Frame, block: Arc<Mapping>, access: Access) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            references: AtomicUsize::new(1),
            told,
            block,
            access,
            is_written: AtomicBool::new(false),
        })))
    }

    /// The pixels, to write.
    fn pixels_mut(&self) -> *mut u8 {
        self.is_written.store(true, Ordering::Relaxed);
        self.block.pointer().as_ptr()
    }

    /// The handle of a frame that is emitted, and whether its pixels may be others than when it was emitted last.
    ///
    /// # Safety
    /// The caller holds a reference.
    pub(super) unsafe fn emitted(frame: *mut abi::Frame) -> Option<(u64, bool)> {
        // SAFETY: by the contract above.
        let frame = unsafe { frame.cast::<Self>().as_ref() }?;
        let is_written = frame.is_written.swap(false, Ordering::Relaxed);
        Some((frame.told.handle, is_written))
    }
}

/// Gives one reference up; true: it was the last.
///
/// # Safety
/// The caller holds it, and uses it no more.
pub(super) unsafe fn give_up(frame: NonNull<Frame>) -> bool {
    // SAFETY: by the contract above.
    let last = unsafe { frame.as_ref() }
        .references
        .fetch_sub(1, Ordering::AcqRel)
        == 1;
    if last {
        // SAFETY: nobody else can reach the box any more.
        drop(unsafe { Box::from_raw(frame.as_ptr()) });
    }
    last
}

/// The host's extension `flowpipe.frames/1`.
pub(super) static TABLE: abi::Frames = frame_functions::extension::<Frame>();

impl Child {
    /// A frame of this process's own.
    pub(super) fn new_frame(&self, shape: protocol::Shape) -> Option<NonNull<Frame>> {
        let mut side = lock(&self.side);
        side.send(&Request::NewFrame(shape), b"", &[]).ok()?;
        let answer = side.receive::<Answer>().ok()??.0;
        self.forget(&answer.forget);
        let told = answer.frame?;
        let block = self.block(&told, &mut side, Access::Write).ok()?;
        Some(Frame::new(told, block, Access::Write))
    }
}

// SAFETY: a frame pointer of the border points at such a frame here, whose count and memory any thread may use.
unsafe impl FrameFunctions for Frame {
    unsafe extern "C" fn add_reference(frame: *mut abi::Frame) -> *mut abi::Frame {
        // SAFETY: the border demands that the caller holds a reference.
        if let Some(held) = unsafe { frame.cast::<Self>().as_ref() } {
            held.references.fetch_add(1, Ordering::Relaxed);
        }
        frame
    }

    unsafe extern "C" fn release(frame: *mut abi::Frame) {
        let Some(frame) = NonNull::new(frame.cast::<Self>()) else {
            return;
        };
        // SAFETY: the border demands that the caller holds a reference, which it gives up here.
        let (handle, last) = unsafe { (frame.as_ref().told.handle, give_up(frame)) };
        if last && let Some(child) = CHILD.get() {
            // It fails when the host is gone, and then this process ends.
            let _ = lock(&child.side).send(&Request::Release(handle), b"", &[]);
        }
    }

    unsafe extern "C" fn info(frame: *const abi::Frame, info: *mut abi::FrameInfo) {
        // SAFETY: the border demands that the caller holds a reference, and an info that is writable as far as it says.
        unsafe {
            if let Some(held) = frame.cast::<Self>().as_ref() {
                fill_in(info, held.told.shape.into());
            }
        }
    }

    unsafe extern "C" fn read(frame: *const abi::Frame) -> *const u8 {
        // SAFETY: the border demands that the caller holds a reference.
        unsafe { frame.cast::<Self>().as_ref() }
            .map_or(std::ptr::null(), |held| held.block.pointer().as_ptr())
    }

    unsafe extern "C" fn write(frame: *mut *mut abi::Frame) -> *mut u8 {
        // SAFETY: the border demands a writable pointer to a reference that the caller holds.
        let Some((place, held)) = (unsafe {
            frame
                .as_mut()
                .and_then(|place| (*place).cast::<Self>().as_ref().map(|held| (place, held)))
        }) else {
            return std::ptr::null_mut();
        };
        if held.access == Access::Write && held.references.load(Ordering::Acquire) == 1 {
            return held.pixels_mut();
        }
        let shape = held.told.shape;
        let Some(copy) = CHILD.get().and_then(|child| child.new_frame(shape)) else {
            return std::ptr::null_mut();
        };
        // SAFETY: nobody else has seen it yet.
        let pixels = unsafe { copy.as_ref() }.pixels_mut();
        let size = usize::try_from(shape.size).unwrap_or(0);
        // SAFETY: both have so many bytes: the host makes a frame of the shape that is asked for, and a new one overlaps no other.
        unsafe { pixels.copy_from_nonoverlapping(held.block.pointer().as_ptr(), size) };
        let old = std::mem::replace(place, copy.as_ptr().cast());
        // SAFETY: the reference to the old one is the caller's, and this function takes it over.
        unsafe { Self::release(old) };
        pixels
    }
}
