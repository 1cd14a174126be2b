//! Recycles the memory of frames.

mod poison;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};

#[cfg(unix)]
use crate::frame::memory::Access;
use crate::frame::released::ReleasedCounts;

/// Every frame starts on a cache line, which is also the alignment of the widest vector instructions.
const ALIGNMENT: usize = 64;

/// The most idle memory, in bytes. Besides, live frames and idle memory together never take more than the peak of live
/// frames.
const IDLE_LIMIT: usize = 1 << 30;

/// The most idle pieces of memory: each takes a little more than its bytes.
const IDLE_PIECES: usize = 4_096;

/// The most idle shared blocks: each holds a file descriptor.
#[cfg(unix)]
const IDLE_BLOCKS: usize = 256;

/// The number of stages that may be added while a pipeline runs.
pub const ROOM: usize = 256;

/// The frame memory of one run.
#[derive(Debug)]
pub struct Pool {
    idle: Mutex<Idle>,
    allocated: AtomicUsize,
    reused: AtomicUsize,
    /// Live frames by the stage that allocated them.
    live: Box<[AtomicUsize]>,
    released: ReleasedCounts,
    /// Whether new frames are in shared memory.
    #[cfg(unix)]
    is_shared: AtomicBool,
    /// What other processes may do with them.
    #[cfg(unix)]
    access: Access,
}

/// Counters of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatistics {
    /// Frames for which memory was allocated.
    pub allocated: usize,
    /// Frames that reused the memory of an earlier one.
    pub reused: usize,
    /// Live frames.
    pub live: usize,
    /// Bytes of idle memory.
    pub idle_bytes: usize,
}

/// Memory for one frame, its bytes initialised.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Aligned, inside the block.
    pointer: NonNull<u8>,
    /// The bytes that a frame can have: a size class.
    size: usize,
    block: PoolBlock,
}

/// The allocation that contains the memory.
#[derive(Debug)]
enum PoolBlock {
    Own(NonNull<u8>, Layout),
    /// Shared memory.
    #[cfg(unix)]
    Shared(Arc<crate::frame::memory::Block>),
}

// SAFETY: it is plain memory with one owner.
unsafe impl Send for Memory {}
// SAFETY: it gives out no access by itself.
unsafe impl Sync for Memory {}

/// Idle memory by size class. Pipelines use few sizes, and there are few classes, so a list is the fastest map.
#[derive(Debug, Default)]
struct Idle {
    bytes: usize,
    /// The number of idle pieces, and the limit.
    count: usize,
    most: usize,
    /// Bytes of live frames, and their peak.
    live: usize,
    peak: usize,
    shelves: Vec<(usize, Vec<Memory>)>,
    /// Only shared memory is kept.
    is_shared: bool,
}

impl Pool {
    /// An empty pool for a pipeline of this many stages.
    #[must_use]
    pub fn new(stages: usize) -> Arc<Self> {
        Arc::new(Self::empty(stages))
    }

    /// A pool of frames that one other process can write.
    #[cfg(unix)]
    pub fn writable() -> Arc<Self> {
        let mut pool = Self::empty(0);
        pool.access = Access::Write;
        pool.share();
        Arc::new(pool)
    }

    fn empty(stages: usize) -> Self {
        Self {
            #[cfg(unix)]
            is_shared: AtomicBool::new(false),
            #[cfg(unix)]
            access: Access::Read,
            idle: Mutex::new(Idle {
                most: IDLE_PIECES,
                ..Idle::default()
            }),
            allocated: AtomicUsize::new(0),
            reused: AtomicUsize::new(0),
            live: (0..stages + ROOM).map(|_| AtomicUsize::new(0)).collect(),
            released: ReleasedCounts::new(),
        }
    }

    /// A pool whose frames are in shared memory.
    #[cfg(unix)]
    pub fn shared(stages: usize) -> Arc<Self> {
        let pool = Self::new(stages);
        pool.share();
        pool
    }

    /// Allocates new frames in shared memory from now on. The first such pool raises this process's limit of open
    /// files.
    #[cfg(unix)]
    pub fn share(&self) {
        if self.is_shared.swap(true, Ordering::SeqCst) {
            return;
        }
        crate::frame::memory::raise_file_limit();
        let surplus = {
            let mut idle = lock(&self.idle);
            idle.most = IDLE_BLOCKS;
            idle.is_shared = true;
            idle.shrink(0, 0)
        };
        drop(surplus);
    }

    /// The number of stages that it can distinguish.
    pub fn owners(&self) -> usize {
        self.live.len()
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        PoolStatistics {
            allocated: self.allocated.load(Ordering::Relaxed),
            reused: self.reused.load(Ordering::Relaxed),
            live: self
                .live
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .sum(),
            idle_bytes: lock(&self.idle).bytes,
        }
    }

    /// Live frames that a stage allocated.
    #[must_use]
    pub fn live(&self, stage: usize) -> usize {
        self.live
            .get(stage)
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// The counts of its frames that were released last.
    pub(crate) fn released(&self) -> &ReleasedCounts {
        &self.released
    }

    /// Memory of at least `size` bytes. `None` when memory is short.
    pub(crate) fn take(&self, size: usize, owner: u32) -> Option<Memory> {
        let (wanted, size) = (size, self.size_for(size));
        let (idle, surplus) = lock(&self.idle).take(size);
        // Freed outside of the lock: giving a large block back to the system takes time.
        drop(surplus);
        let memory = if let Some(memory) = idle {
            self.reused.fetch_add(1, Ordering::Relaxed);
            memory
        } else {
            let Some(memory) = self.allocate(size) else {
                lock(&self.idle).live -= size;
                return None;
            };
            self.allocated.fetch_add(1, Ordering::Relaxed);
            memory
        };
        memory.limit(wanted);
        if let Some(count) = self.live.get(owner as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Some(memory)
    }

    /// The size of the memory for so many bytes. Shared memory has no more than them: another process can read all of a
    /// block, and what an earlier frame left behind is not for it.
    fn size_for(&self, size: usize) -> usize {
        #[cfg(unix)]
        if self.is_shared.load(Ordering::SeqCst) {
            return size;
        }
        size_class(size)
    }

    fn allocate(&self, size: usize) -> Option<Memory> {
        #[cfg(unix)]
        if self.is_shared.load(Ordering::SeqCst) {
            return Memory::shared(size, self.access);
        }
        Memory::new(size)
    }

    pub(crate) fn give_back(&self, memory: Memory, owner: u32) {
        if let Some(count) = self.live.get(owner as usize) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        let surplus = lock(&self.idle).put(memory);
        drop(surplus);
    }
}

/// The size that memory for so many bytes has: at most an eighth more. There are eight classes between two powers of two,
/// so that frames whose size varies reuse the memory of each other.
fn size_class(size: usize) -> usize {
    let size = size.max(ALIGNMENT);
    let next_power = size.checked_next_power_of_two();
    let class = next_power.and_then(|power| size.checked_next_multiple_of(power / 16));
    // Without a class: no system has so much memory.
    class.unwrap_or(size)
}

impl Idle {
    /// Idle memory of that size class if there is some; else the memory that has to be freed for it.
    fn take(&mut self, size: usize) -> (Option<Memory>, Vec<Memory>) {
        self.live += size;
        self.peak = self.peak.max(self.live);
        let shelf = self.shelves.iter_mut().find(|(of, _)| *of == size);
        if let Some(memory) = shelf.and_then(|(_, shelf)| shelf.pop()) {
            self.bytes -= size;
            self.count -= 1;
            poison::permit(memory.pointer, size);
            return (Some(memory), Vec::new());
        }
        (None, self.shrink(self.peak - self.live, self.most))
    }

    /// Keeps the memory; returns what has to be freed so that the limits hold. Other sizes are freed first: a size that
    /// is still being returned is still in use.
    fn put(&mut self, memory: Memory) -> Vec<Memory> {
        let size = memory.size;
        self.live -= size;
        if self.is_shared && !memory.is_shared() {
            return vec![memory];
        }
        let mut surplus = self.shrink(IDLE_LIMIT.saturating_sub(size), self.most - 1);
        if size > IDLE_LIMIT {
            surplus.push(memory);
            return surplus;
        }
        self.bytes += size;
        self.count += 1;
        poison::forbid(memory.pointer, size);
        match self.shelves.iter_mut().find(|(of, _)| *of == size) {
            Some((_, shelf)) => shelf.push(memory),
            None => self.shelves.push((size, vec![memory])),
        }
        surplus
    }

    /// Removes idle memory until no more than `bytes` and `count` pieces are left, starting with the sizes that came
    /// into use first.
    fn shrink(&mut self, bytes: usize, count: usize) -> Vec<Memory> {
        let mut surplus = Vec::new();
        if self.bytes <= bytes && self.count <= count {
            return surplus;
        }
        for (size, shelf) in &mut self.shelves {
            while (self.bytes > bytes || self.count > count)
                && let Some(memory) = shelf.pop()
            {
                self.bytes -= *size;
                self.count -= 1;
                surplus.push(memory);
            }
        }
        // Every size class adds a shelf, and plugins choose the sizes.
        self.shelves.retain(|(_, shelf)| !shelf.is_empty());
        surplus
    }
}

impl Memory {
    fn new(size: usize) -> Option<Self> {
        // Zeroed, because Rust readers may not see bytes that were never written. Aligned by hand:
        // asked for this alignment, the allocator would write the zeros itself, page by page, while
        // for a plain large block it takes pages from the system that are zero without being touched.
        let layout = Layout::from_size_align(size.checked_add(ALIGNMENT)?, 1).ok()?;
        // SAFETY: the layout's size is not zero.
        let block = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let gap = block.align_offset(ALIGNMENT).min(ALIGNMENT);
        // SAFETY: the gap is at most ALIGNMENT bytes, which the block has beyond the size.
        let pointer = unsafe { block.add(gap) };
        poison::forbid(block, layout.size());
        poison::permit(pointer, size);
        Some(Self {
            pointer,
            size,
            block: PoolBlock::Own(block, layout),
        })
    }

    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// What is behind so many bytes belongs to no frame.
    fn limit(&self, bytes: usize) {
        let bytes = bytes.min(self.size);
        // SAFETY: the memory has no fewer bytes.
        let rest = unsafe { self.pointer.add(bytes) };
        poison::forbid(rest, self.size - bytes);
    }

    fn is_shared(&self) -> bool {
        !matches!(self.block, PoolBlock::Own(..))
    }
}

#[cfg(unix)]
impl Memory {
    fn shared(size: usize, access: Access) -> Option<Self> {
        let block = crate::frame::memory::Block::new(size, access);
        let block = block.inspect_err(|error| tracing::warn!("no memory to share: {error}"));
        let block = Arc::new(block.ok()?);
        Some(Self {
            pointer: block.pointer(),
            size,
            block: PoolBlock::Shared(block),
        })
    }

    /// The shared block, if it is one.
    pub(crate) fn block(&self) -> Option<&Arc<crate::frame::memory::Block>> {
        match &self.block {
            PoolBlock::Own(..) => None,
            PoolBlock::Shared(block) => Some(block),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Its addresses may be those of other memory next.
        poison::permit(self.pointer, self.size);
    }
}

impl Drop for PoolBlock {
    fn drop(&mut self) {
        match self {
            // SAFETY: allocated in `Memory::new` with this layout, and freed only here.
            Self::Own(block, layout) => unsafe { dealloc(block.as_ptr(), *layout) },
            #[cfg(unix)]
            Self::Shared(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused() {
        let pool = Pool::new(2);
        let first = pool.take(1000, 1).unwrap();
        let place = first.pointer();
        assert_eq!((pool.live(0), pool.live(1)), (0, 1));
        pool.give_back(first, 1);
        assert_eq!(pool.statistics().idle_bytes, 1024);
        assert_eq!(pool.take(1000, 1).unwrap().pointer(), place);
        let statistics = pool.statistics();
        assert_eq!(
            (statistics.allocated, statistics.reused, statistics.live),
            (1, 1, 1)
        );
    }

    #[test]
    fn idle_memory_is_bounded_by_the_peak() {
        let pool = Pool::new(1);
        let fill = |size: usize, count: usize| {
            let memory: Vec<_> = (0..count).map(|_| pool.take(size, 0).unwrap()).collect();
            for memory in memory {
                pool.give_back(memory, 0);
            }
            pool.statistics()
        };
        assert_eq!(fill(1024, 4).idle_bytes, 4096);
        assert_eq!(fill(1024, 4).allocated, 4, "all of it is reused");
        // Another size: the old one makes room.
        let other = fill(1536, 2);
        assert_eq!((other.allocated, other.idle_bytes), (6, 4096));
        assert_eq!(fill(512, 100).idle_bytes, 51_200);
    }

    #[test]
    fn sizes_without_idle_memory_are_removed() {
        let pool = Pool::new(1);
        for size in 1..=10_000 {
            let memory = pool.take(size, 0).unwrap();
            pool.give_back(memory, 0);
        }
        let shelves = lock(&pool.idle).shelves.len();
        assert_eq!(shelves, 1, "the last size is idle");
    }

    #[test]
    fn sizes_have_eight_classes_for_each_power_of_two() {
        for (size, class) in [
            (0, 64),
            (1, 64),
            (64, 64),
            (65, 72),
            (72, 72),
            (73, 80),
            (128, 128),
            (129, 144),
            (1_000, 1_024),
            (1_025, 1_152),
            (1 << 30, 1 << 30),
        ] {
            assert_eq!(size_class(size), class, "{size}");
        }
        let classes: std::collections::BTreeSet<_> = (65..=1 << 16).map(size_class).collect();
        assert_eq!(classes.len(), 8 * 10);
        for size in 64..=1 << 16 {
            let class = size_class(size);
            assert!(class >= size && class - size <= size / 8, "{size}: {class}");
            assert_eq!(size_class(class), class, "{size}");
        }
    }

    /// A large tensor, then buffers of many sizes: without a limit, each size keeps a piece as long as the large one's bytes
    /// are free.
    #[test]
    fn many_sizes_after_a_large_one_share_few_pieces() {
        let pool = Pool::new(1);
        let large = pool.take(100 << 20, 0).unwrap();
        pool.give_back(large, 0);
        for size in 1..=14_000 {
            let memory = pool.take(size, 0).unwrap();
            pool.give_back(memory, 0);
        }
        let statistics = pool.statistics();
        // 8 classes for each of the 8 powers of two above 64 bytes.
        assert!(statistics.allocated <= 2 + 8 * 8, "{statistics:?}");
        let shelves = lock(&pool.idle).shelves.len();
        assert!(shelves <= 2 + 8 * 8, "{shelves} shelves");
    }

    #[test]
    #[cfg_attr(miri, ignore = "so many allocations take Miri long")]
    fn idle_pieces_have_a_limit() {
        let pool = Pool::new(1);
        let memory: Vec<_> = (0..IDLE_PIECES + 20)
            .map(|number| pool.take(64 + number % 100, 0).unwrap())
            .collect();
        for memory in memory {
            pool.give_back(memory, 0);
        }
        let idle = lock(&pool.idle);
        let pieces: usize = idle.shelves.iter().map(|(_, shelf)| shelf.len()).sum();
        assert_eq!((idle.count, pieces), (IDLE_PIECES, IDLE_PIECES));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri allocates the whole 1.5 GiB")]
    fn idle_memory_has_a_limit() {
        let pool = Pool::new(1);
        // Never touched, so the system does not allocate its pages.
        let memory: Vec<_> = (0..3)
            .map(|_| pool.take(IDLE_LIMIT / 2, 0).unwrap())
            .collect();
        for memory in memory {
            pool.give_back(memory, 0);
            assert!(pool.statistics().idle_bytes <= IDLE_LIMIT);
        }
        assert_eq!(pool.statistics().idle_bytes, IDLE_LIMIT);
    }

    #[cfg(unix)]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory that processes share")]
    fn private_memory_is_not_reused_once_the_pool_is_shared() {
        let pool = Pool::new(1);
        let (early, late) = (pool.take(64, 0).unwrap(), pool.take(64, 0).unwrap());
        pool.give_back(early, 0);
        pool.share();
        assert_eq!(pool.statistics().idle_bytes, 0);
        pool.give_back(late, 0);
        assert_eq!(pool.statistics().idle_bytes, 0);
        let shared = pool.take(64, 0).unwrap();
        assert!(shared.block().is_some());
        pool.give_back(shared, 0);
        assert_eq!(pool.statistics().idle_bytes, 64);
        assert!(pool.take(64, 0).unwrap().block().is_some());
    }

    #[cfg(unix)]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memory that processes share")]
    fn idle_shared_blocks_have_a_limit() {
        let pool = Pool::shared(1);
        let memory: Vec<_> = (0..IDLE_BLOCKS + 20)
            .map(|number| pool.take(64 + number % 3, 0).unwrap())
            .collect();
        for memory in memory {
            pool.give_back(memory, 0);
        }
        assert_eq!(lock(&pool.idle).count, IDLE_BLOCKS);
        let shelves = &lock(&pool.idle).shelves;
        let idle: usize = shelves.iter().map(|(_, shelf)| shelf.len()).sum();
        assert_eq!(idle, IDLE_BLOCKS);
    }
}
