//! The frames that the plugin refers to. References are counted here; the host hears of the first and of the last one.
//! Their pixels can be written only while the plugin alone refers to them: a wild write into what others see is a crash of
//! this process, and no more.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flowpipe_abi as abi;

use crate::isolation::child::{CHILD, Child};
use crate::isolation::memory::Mapping;
use crate::isolation::words::{self, Answer, Request};
use crate::sync::lock;

/// What a frame pointer of the border points at.
pub(super) struct Frame {
    references: AtomicUsize,
    told: words::Frame,
    block: Arc<Mapping>,
    /// Nobody else refers to it: it was made here, or copied, and not emitted since. Then it can be written.
    alone: AtomicBool,
}

impl Frame {
    /// With one reference, to be read.
    pub(super) fn new(told: words::Frame, block: Arc<Mapping>) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            references: AtomicUsize::new(1),
            told,
            block,
            alone: AtomicBool::new(false),
        })))
    }

    /// Nobody else refers to it: the pixels, to write. Null when the system refuses.
    fn own(&self) -> *mut u8 {
        if self.block.allow_writing(true).is_err() {
            return std::ptr::null_mut();
        }
        self.alone.store(true, Ordering::Relaxed);
        self.block.pointer().as_ptr()
    }

    /// Others refer to it from now on, or it is given back.
    fn share(&self) {
        if self.alone.swap(false, Ordering::Relaxed) {
            // It can't fail: the mapping becomes what it was at first.
            let _ = self.block.allow_writing(false);
        }
    }

    /// The handle of a frame that is emitted: from now on others see it too.
    ///
    /// # Safety
    /// The caller holds a reference.
    pub(super) unsafe fn emitted(frame: *mut abi::Frame) -> Option<u64> {
        // SAFETY: by the contract above.
        let frame = unsafe { frame.cast::<Self>().as_ref() }?;
        frame.share();
        Some(frame.told.handle)
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
        let frame = unsafe { Box::from_raw(frame.as_ptr()) };
        // Before the host hears of it, and gives the memory to somebody else.
        frame.share();
    }
    last
}

impl Child {
    /// Asks for a frame.
    fn ask(&self, request: &Request) -> Option<(words::Frame, Arc<Mapping>)> {
        let mut side = lock(&self.side);
        side.send(request, b"", &[]).ok()?;
        let answer = side.receive::<Answer>().ok()??.0;
        self.forget(&answer.forget);
        let frame = answer.frame?;
        let block = self.block(&frame, &mut side).ok()?;
        Some((frame, block))
    }
}

pub(super) unsafe extern "C" fn frame_new(
    host: *const abi::Host,
    info: *const abi::FrameInfo,
) -> *mut abi::Frame {
    // SAFETY: the border demands a readable info.
    let info = unsafe { info.as_ref() };
    let frame = CHILD.get().zip(info).and_then(|(child, info)| {
        let (told, block) = child.ask(&Request::NewFrame((*info).into()))?;
        Some(Frame::new(told, block))
    });
    let Some(frame) = frame else {
        return std::ptr::null_mut();
    };
    // SAFETY: nobody else has seen it yet.
    if unsafe { frame.as_ref() }.own().is_null() {
        // SAFETY: as above, and nobody ever will.
        unsafe { frame_unref(host, frame.as_ptr().cast()) };
        return std::ptr::null_mut();
    }
    frame.as_ptr().cast()
}

pub(super) unsafe extern "C" fn frame_ref(
    _: *const abi::Host,
    frame: *mut abi::Frame,
) -> *mut abi::Frame {
    // SAFETY: the border demands that the caller holds a reference.
    if let Some(held) = unsafe { frame.cast::<Frame>().as_ref() } {
        held.references.fetch_add(1, Ordering::Relaxed);
    }
    frame
}

pub(super) unsafe extern "C" fn frame_unref(_: *const abi::Host, frame: *mut abi::Frame) {
    let Some(frame) = NonNull::new(frame.cast::<Frame>()) else {
        return;
    };
    // SAFETY: the border demands that the caller holds a reference, which it gives up here.
    let (handle, last) = unsafe { (frame.as_ref().told.handle, give_up(frame)) };
    if last && let Some(child) = CHILD.get() {
        // It fails when the host is gone, and then this process ends.
        let _ = lock(&child.side).send(&Request::Release(handle), b"", &[]);
    }
}

pub(super) unsafe extern "C" fn frame_info(
    _: *const abi::Host,
    frame: *const abi::Frame,
    info: *mut abi::FrameInfo,
) {
    // SAFETY: the border demands that the caller holds a reference, and a writable info.
    let (held, info) = unsafe { (frame.cast::<Frame>().as_ref(), info.as_mut()) };
    if let (Some(held), Some(info)) = (held, info)
        && info.struct_size as usize >= size_of::<abi::FrameInfo>()
    {
        *info = abi::FrameInfo {
            struct_size: info.struct_size,
            ..held.told.shape.into()
        };
    }
}

pub(super) unsafe extern "C" fn frame_read(
    _: *const abi::Host,
    frame: *const abi::Frame,
) -> *const u8 {
    // SAFETY: the border demands that the caller holds a reference.
    unsafe { frame.cast::<Frame>().as_ref() }
        .map_or(std::ptr::null(), |held| held.block.pointer().as_ptr())
}

pub(super) unsafe extern "C" fn frame_write(
    host: *const abi::Host,
    frame: *mut *mut abi::Frame,
) -> *mut u8 {
    // SAFETY: the border demands a writable pointer to a reference that the caller holds.
    let Some((place, held)) = (unsafe {
        frame
            .as_mut()
            .and_then(|place| (*place).cast::<Frame>().as_ref().map(|held| (place, held)))
    }) else {
        return std::ptr::null_mut();
    };
    let mine_alone = held.references.load(Ordering::Acquire) == 1;
    if mine_alone && held.alone.load(Ordering::Relaxed) {
        return held.block.pointer().as_ptr();
    }
    let handle = held.told.handle;
    let request = Request::Write {
        handle,
        copy: !mine_alone,
    };
    let Some((told, block)) = CHILD.get().and_then(|child| child.ask(&request)) else {
        return std::ptr::null_mut();
    };
    if told.handle == handle {
        return held.own();
    }
    let copy = Frame::new(told, block);
    // SAFETY: nobody else has seen it yet.
    let pixels = unsafe { copy.as_ref() }.own();
    let old = std::mem::replace(place, copy.as_ptr().cast());
    // SAFETY: the reference to the old one is the caller's, and this function takes it over.
    unsafe { frame_unref(host, old) };
    pixels
}
