//! Frames: pictures and buffers in the host's memory, counted and recycled.

pub mod layout;
#[cfg(unix)]
pub mod memory;
pub mod pool;
pub mod released;

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;

pub use crate::frame::layout::{BufferLayout, Layout, Shape};
use crate::frame::pool::{Memory, Pool};

/// One reference to a frame.
///
/// Cloning adds a reference; dropping the last one gives the memory back to its pool.
#[derive(Clone, Debug)]
pub struct Frame(Arc<Counted>);

/// The target of the ABI's frame pointer.
#[derive(Debug)]
struct Counted {
    layout: Layout,
    memory: ManuallyDrop<Memory>,
    /// The stage that allocated it.
    owner: u32,
    pool: ManuallyDrop<Arc<Pool>>,
    /// When a plugin releases a frame too often, a later reference may drop it again.
    is_dropped: bool,
}

impl Frame {
    /// A frame from the pool, its bytes unspecified. `None` when memory is short.
    pub fn new(pool: &Arc<Pool>, layout: impl Into<Layout>, owner: u32) -> Option<Self> {
        let layout = layout.into();
        let memory = pool.take(layout.size(), owner)?;
        let counted = Counted {
            layout,
            memory: ManuallyDrop::new(memory),
            owner,
            pool: ManuallyDrop::new(pool.clone()),
            is_dropped: false,
        };
        Some(Self(Arc::new(counted)))
    }

    /// Allocates later frames of its pool in memory that other processes can read.
    #[cfg(unix)]
    pub fn share_later(&self) {
        self.0.pool.share();
    }

    /// A frame with these bytes, from the pool. `None` when memory is short, or when the layout has another size.
    pub fn from_bytes(
        pool: &Arc<Pool>,
        layout: impl Into<Layout>,
        owner: u32,
        bytes: &[u8],
    ) -> Option<Self> {
        let layout = layout.into();
        if bytes.len() != layout.size() {
            return None;
        }
        let frame = Self::new(pool, layout, owner)?;
        let target = frame.0.memory.pointer();
        // SAFETY: both hold `size` bytes, and a new frame overlaps no other.
        unsafe { target.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Some(frame)
    }

    /// The layout of the bytes.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// The layout of the pixels. `None`: it is a buffer.
    #[must_use]
    pub fn picture(&self) -> Option<Shape> {
        match self.0.layout {
            Layout::Picture(shape) => Some(shape),
            Layout::Buffer(_) => None,
        }
    }

    /// What a message with it carries.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        self.0.layout.content()
    }

    /// Bytes in all.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.layout.size()
    }

    /// The pixels, or the elements.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let Counted { memory, layout, .. } = &*self.0;
        // SAFETY: the memory holds `size` initialised bytes as long as a reference exists, and
        // nothing writes while there is more than one reference.
        unsafe { std::slice::from_raw_parts(memory.pointer().as_ptr(), layout.size()) }
    }

    /// The pointer for the ABI. The reference stays with `self`.
    pub fn as_abi(&self) -> *mut abi::Frame {
        Arc::as_ptr(&self.0).cast_mut().cast()
    }

    /// Transfers this reference to a plugin.
    pub(crate) fn into_abi(self) -> *mut abi::Frame {
        let pointer = self.as_abi();
        std::mem::forget(self);
        pointer
    }

    /// Takes ownership of a reference that a plugin holds.
    ///
    /// # Safety
    /// `frame` is null or came from [`Self::into_abi`] or [`Self::as_abi`], and the caller owns one
    /// reference to it.
    pub unsafe fn from_abi(frame: *mut abi::Frame) -> Option<Self> {
        let frame: *const Counted = frame.cast();
        // SAFETY: by the contract above, the reference is one of an `Arc`.
        (!frame.is_null()).then(|| Self(unsafe { Arc::from_raw(frame) }))
    }

    /// The layout, as the ABI's struct.
    pub fn info(&self) -> abi::FrameInfo {
        self.0.layout.info()
    }

    /// The bytes, to write. When other references exist, this becomes a copy first. `None` when
    /// memory is short.
    pub fn write(&mut self) -> Option<NonNull<u8>> {
        // What the last other holder read is over before this one writes: `get_mut` synchronizes with its drop.
        if Arc::get_mut(&mut self.0).is_none() {
            *self = self.copy(&self.0.pool, self.0.owner)?;
        }
        Some(self.0.memory.pointer())
    }

    /// A frame with the same layout and bytes, from this pool. `None` when memory is short.
    pub fn copy(&self, pool: &Arc<Pool>, owner: u32) -> Option<Self> {
        let Counted { memory, layout, .. } = &*self.0;
        let copy = Self::new(pool, *layout, owner)?;
        let target = copy.0.memory.pointer();
        // SAFETY: both hold `size` bytes, and a new frame overlaps no other.
        unsafe { target.copy_from_nonoverlapping(memory.pointer(), layout.size()) };
        Some(copy)
    }

    /// The shared memory, if the frame is in such.
    #[cfg(unix)]
    pub fn block(&self) -> Option<&Arc<crate::frame::memory::Block>> {
        self.0.memory.block()
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) != 1 {
            return;
        }
        if self.0.is_dropped {
            // Nothing knows how many references there are: its count is never freed.
            std::mem::forget(Arc::downgrade(&self.0));
        } else {
            self.0.pool.released().keep(&self.0);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.is_dropped, true) {
            return;
        }
        // SAFETY: it is dropped, and these are not taken again.
        let (memory, pool) = unsafe {
            (
                ManuallyDrop::take(&mut self.memory),
                ManuallyDrop::take(&mut self.pool),
            )
        };
        pool.give_back(memory, self.owner);
    }
}

#[cfg(test)]
mod tests;
