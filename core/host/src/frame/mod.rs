//! Frames: pictures in the host's memory, counted and recycled.

#[cfg(unix)]
pub mod memory;
pub mod pool;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
#[derive(Debug)]
pub struct Frame(NonNull<Counted>);

/// The target of the ABI's frame pointer.
#[derive(Debug)]
struct Counted {
    references: AtomicUsize,
    shape: Shape,
    memory: Memory,
    /// The stage that allocated it.
    owner: u32,
    pool: Arc<Pool>,
}

// SAFETY: the count is atomic, and the pixels are only written through `write`, which demands that
// the caller's reference is the only one.
unsafe impl Send for Frame {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Frame {}

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
            references: AtomicUsize::new(1),
            shape,
            memory,
            owner,
            pool: pool.clone(),
        };
        Some(Self(NonNull::from(Box::leak(Box::new(counted)))))
    }

    /// The layout of the pixels.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.counted().shape
    }

    /// The pixels.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        let counted = self.counted();
        // SAFETY: the memory holds `size` initialised bytes as long as a reference exists, and
        // nothing writes while there is more than one reference.
        unsafe {
            std::slice::from_raw_parts(counted.memory.pointer().as_ptr(), counted.shape.size())
        }
    }

    /// The pointer for the ABI. The reference stays with `self`.
    pub fn as_abi(&self) -> *mut abi::Frame {
        self.0.as_ptr().cast()
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
        NonNull::new(frame.cast::<Counted>()).map(Self)
    }

    /// The layout, as the ABI's struct.
    pub fn info(&self) -> abi::FrameInfo {
        self.shape().info()
    }

    /// The pixels, to write. When other references exist, this becomes a copy first. `None` when
    /// memory is short.
    pub fn write(&mut self) -> Option<NonNull<u8>> {
        let counted = self.counted();
        // Acquire: what the last other holder read is over before this one writes.
        if counted.references.load(Ordering::Acquire) != 1 {
            *self = self.copy(&counted.pool, counted.owner)?;
        }
        Some(self.counted().memory.pointer())
    }

    /// A frame with the same pixels, from this pool. `None` when memory is short.
    pub fn copy(&self, pool: &Arc<Pool>, owner: u32) -> Option<Self> {
        let counted = self.counted();
        let copy = Self::new(pool, counted.shape, owner)?;
        // SAFETY: both hold `size` bytes, and a new frame overlaps no other.
        unsafe {
            copy.counted()
                .memory
                .pointer()
                .copy_from_nonoverlapping(counted.memory.pointer(), counted.shape.size());
        }
        Some(copy)
    }

    /// The shared memory, if the frame is in such.
    #[cfg(unix)]
    pub fn block(&self) -> Option<&Arc<crate::frame::memory::Block>> {
        self.counted().memory.block()
    }

    fn counted(&self) -> &Counted {
        // SAFETY: the box exists as long as a reference does, and `self` is one.
        unsafe { self.0.as_ref() }
    }
}

/// Counts one more reference, as [`Arc`] does: references that are forgotten are never released, and a count that wraps
/// would free what is in use.
pub fn count_one_more(references: &AtomicUsize) {
    const MOST: usize = isize::MAX as usize;
    if references.fetch_add(1, Ordering::Relaxed) > MOST {
        std::process::abort();
    }
}

impl Clone for Frame {
    fn clone(&self) -> Self {
        count_one_more(&self.counted().references);
        Self(self.0)
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if self.counted().references.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // Acquire: what the other holders did with it is over. A load and no fence, which ThreadSanitizer does not
        // know.
        let _ = self.counted().references.load(Ordering::Acquire);
        // SAFETY: this was the last reference to the box.
        let counted = unsafe { Box::from_raw(self.0.as_ptr()) };
        let Counted {
            memory,
            owner,
            pool,
            ..
        } = *counted;
        pool.give_back(memory, owner);
    }
}

#[cfg(test)]
mod tests;
