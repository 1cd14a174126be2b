//! Frames: pictures in the host's memory, counted and recycled.

#[cfg(unix)]
pub mod memory;
pub mod pool;
pub mod released;

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use flowpipe_abi as abi;

use crate::frame::pool::{Memory, Pool};

/// The layout of a picture in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// One of the ABI's formats (`flowpipe_abi::FORMAT_…`).
    pub format: abi::Format,
    /// Pixels from left to right, at least 1.
    pub width: u32,
    /// Rows from top to bottom, at least 1.
    pub height: u32,
    /// Bytes from one row to the next.
    pub stride: u64,
}

/// The largest allowed picture in bytes: 16,384 x 16,384 pixels of 4 bytes.
const LARGEST: u64 = 1 << 30;

/// One reference to a frame.
///
/// Cloning adds a reference; dropping the last one gives the memory back to its pool.
#[derive(Clone, Debug)]
pub struct Frame(Arc<Counted>);

/// The target of the ABI's frame pointer.
#[derive(Debug)]
struct Counted {
    shape: Shape,
    memory: ManuallyDrop<Memory>,
    /// The stage that allocated it.
    owner: u32,
    pool: ManuallyDrop<Arc<Pool>>,
    /// When a plugin releases a frame too often, a later reference may drop it again.
    is_dropped: bool,
}

impl Shape {
    /// Reads a shape from the ABI; a stride of 0 becomes rows without gaps.
    ///
    /// `None` if it is invalid: an unknown format, no pixels, rows that overlap, more than 1 GiB.
    #[must_use]
    pub fn new(info: &abi::FrameInfo) -> Option<Self> {
        let row = u64::from(info.width) * bytes_per_pixel(info.format)?;
        let stride = if info.stride == 0 { row } else { info.stride };
        let size = stride.checked_mul(u64::from(info.height))?;
        (row > 0 && stride >= row && size > 0 && size <= LARGEST).then_some(Self {
            format: info.format,
            width: info.width,
            height: info.height,
            stride,
        })
    }

    /// Bytes in all.
    #[must_use]
    pub fn size(&self) -> usize {
        // At most LARGEST, checked when the shape was created.
        usize::try_from(self.stride * u64::from(self.height)).unwrap_or(usize::MAX)
    }

    fn info(&self) -> abi::FrameInfo {
        abi::FrameInfo {
            struct_size: size_of::<abi::FrameInfo>() as u32,
            format: self.format,
            width: self.width,
            height: self.height,
            stride: self.stride,
            size: self.size() as u64,
        }
    }
}

fn bytes_per_pixel(format: abi::Format) -> Option<u64> {
    match format {
        abi::FORMAT_BGRA8 | abi::FORMAT_RGBA8 => Some(4),
        abi::FORMAT_BGR8 | abi::FORMAT_RGB8 => Some(3),
        abi::FORMAT_GREY8 => Some(1),
        _ => None,
    }
}

impl Frame {
    /// A frame from the pool, its bytes unspecified. `None` when memory is short.
    pub fn new(pool: &Arc<Pool>, shape: Shape, owner: u32) -> Option<Self> {
        let memory = pool.take(shape.size(), owner)?;
        let counted = Counted {
            shape,
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

    /// A frame with these pixels, from the pool. `None` when memory is short, or when the shape has another size.
    pub fn from_pixels(pool: &Arc<Pool>, shape: Shape, owner: u32, pixels: &[u8]) -> Option<Self> {
        if pixels.len() != shape.size() {
            return None;
        }
        let frame = Self::new(pool, shape, owner)?;
        let target = frame.0.memory.pointer();
        // SAFETY: both hold `size` bytes, and a new frame overlaps no other.
        unsafe { target.copy_from_nonoverlapping(NonNull::from(pixels).cast(), shape.size()) };
        Some(frame)
    }

    /// The layout of the pixels.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// The pixels.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        let Counted { memory, shape, .. } = &*self.0;
        // SAFETY: the memory holds `size` initialised bytes as long as a reference exists, and
        // nothing writes while there is more than one reference.
        unsafe { std::slice::from_raw_parts(memory.pointer().as_ptr(), shape.size()) }
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
        self.shape().info()
    }

    /// The pixels, to write. When other references exist, this becomes a copy first. `None` when
    /// memory is short.
    pub fn write(&mut self) -> Option<NonNull<u8>> {
        // What the last other holder read is over before this one writes: `get_mut` synchronizes with its drop.
        if Arc::get_mut(&mut self.0).is_none() {
            *self = self.copy(&self.0.pool, self.0.owner)?;
        }
        Some(self.0.memory.pointer())
    }

    /// A frame with the same pixels, from this pool. `None` when memory is short.
    pub fn copy(&self, pool: &Arc<Pool>, owner: u32) -> Option<Self> {
        let Counted { memory, shape, .. } = &*self.0;
        let copy = Self::new(pool, *shape, owner)?;
        let target = copy.0.memory.pointer();
        // SAFETY: both hold `size` bytes, and a new frame overlaps no other.
        unsafe { target.copy_from_nonoverlapping(memory.pointer(), shape.size()) };
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
