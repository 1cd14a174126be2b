//! The frames that a stage's process refers to. The host counts one reference for each handle that it sent, however
//! often the other process counts it; when that process ends, all of them are released here.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, Weak};

use flowpipe_host::frame::memory::{Access, Block};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_sync::lock;

use crate::protocol::WireFrame;

/// The references of one process.
#[derive(Debug)]
pub(crate) struct FrameTable {
    /// The pool of frames that the process can write: only it and the host can read them.
    own: Arc<Pool>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    last: u64,
    frames: HashMap<u64, Reference>,
    /// The blocks that the process has mapped.
    known: HashMap<u64, Weak<Block>>,
}

#[derive(Debug)]
struct Reference {
    frame: Frame,
    /// The copy that other stages get of a frame that the process can write.
    emitted: Option<Frame>,
}

/// The limits of one process: enough for a stage that keeps many frames, and less than the system's memory.
const MOST_FRAMES: usize = 4096;
const MOST_BYTES: u64 = 4 << 30;

/// A reference as it is sent, with the block if its file has to be sent too.
pub(crate) type SharedFrame = (WireFrame, Option<Arc<Block>>);

impl FrameTable {
    pub(crate) fn new() -> Self {
        Self {
            own: Pool::writable(),
            table: Mutex::default(),
        }
    }

    /// Creates a handle for a read-only frame. `None`: the process is gone, or the frame is not in shared read-only
    /// memory.
    pub(crate) fn share(&self, frame: Frame) -> Option<SharedFrame> {
        let block = frame.block()?;
        (block.access() == Access::Read).then(|| lock(&self.table).share(frame))?
    }

    /// Allocates a frame that the process can write, with a handle. `None`: the process is over its limits, or memory
    /// is short.
    pub(crate) fn create(&self, shape: Shape) -> Option<SharedFrame> {
        if !lock(&self.table).has_room(shape.size()) {
            return None;
        }
        let frame = Frame::new(&self.own, shape, 0)?;
        lock(&self.table).share(frame)
    }

    /// The frame of a handle, as a reference of the host's own. For a frame that the process can write it is a copy in
    /// `pool`; the same copy until the process has written again.
    ///
    /// # Errors
    /// When the process has no such handle, or memory is short.
    pub(crate) fn emit(
        &self,
        handle: u64,
        is_written: bool,
        pool: &Arc<Pool>,
        owner: u32,
    ) -> io::Result<Frame> {
        let own = {
            let table = lock(&self.table);
            let none = || io::Error::new(io::ErrorKind::InvalidData, "an unknown frame handle");
            let reference = table.frames.get(&handle).ok_or_else(none)?;
            let frame = &reference.frame;
            if frame
                .block()
                .is_some_and(|block| block.access() == Access::Read)
            {
                return Ok(frame.clone());
            }
            match &reference.emitted {
                Some(emitted) if !is_written => return Ok(emitted.clone()),
                _ => frame.clone(),
            }
        };
        // Outside of the lock: it takes time. Concurrent writes of the process may get into the copy.
        let copy = own.copy(pool, owner);
        let copy = copy.ok_or_else(|| io::Error::other("there is no memory for its frame"))?;
        if let Some(reference) = lock(&self.table).frames.get_mut(&handle) {
            reference.emitted = Some(copy.clone());
        }
        Ok(copy)
    }

    /// Releases a handle.
    pub(crate) fn release(&self, handle: u64) {
        let frame = lock(&self.table).frames.remove(&handle);
        // Outside of the lock: freeing memory takes time.
        drop(frame);
    }

    /// The blocks that the process has mapped and that were freed since the last call.
    pub(crate) fn take_freed(&self) -> Vec<u64> {
        let mut table = lock(&self.table);
        let freed: Vec<_> = table
            .known
            .iter()
            .filter(|(_, block)| block.strong_count() == 0)
            .map(|(id, _)| *id)
            .collect();
        for id in &freed {
            table.known.remove(id);
        }
        freed
    }

    /// Releases all handles: the process is gone.
    pub(crate) fn close(&self) {
        let frames = {
            let mut table = lock(&self.table);
            table.closed = true;
            std::mem::take(&mut table.frames)
        };
        drop(frames);
    }
}

impl Table {
    fn has_room(&self, size: usize) -> bool {
        let frames = self.frames.values();
        let frames = frames.flat_map(|it| std::iter::once(&it.frame).chain(&it.emitted));
        let used: u64 = frames.map(|frame| frame.shape().size() as u64).sum();
        self.frames.len() < MOST_FRAMES && used + size as u64 <= MOST_BYTES
    }

    fn share(&mut self, frame: Frame) -> Option<SharedFrame> {
        let handle = self.last + 1;
        let shared = self.describe(&frame, handle)?;
        self.last = handle;
        let emitted = None;
        self.frames.insert(handle, Reference { frame, emitted });
        Some(shared)
    }

    fn describe(&mut self, frame: &Frame, handle: u64) -> Option<SharedFrame> {
        if self.closed {
            return None;
        }
        let block = frame.block()?;
        let is_new = self.known.insert(block.id, Arc::downgrade(block)).is_none();
        let wire = WireFrame {
            handle,
            shape: frame.info().into(),
            block: block.id,
            is_new,
        };
        Some((wire, is_new.then(|| block.clone())))
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_abi as abi;
    use flowpipe_host::frame::Shape;
    use flowpipe_host::frame::pool::Pool;

    use super::*;

    fn shape() -> Shape {
        let info = abi::FrameInfo {
            struct_size: 0,
            format: abi::FORMAT_GREY8,
            width: 64,
            height: 8,
            stride: 0,
            size: 0,
        };
        Shape::new(&info).unwrap()
    }

    fn frame(pool: &Arc<Pool>) -> Frame {
        Frame::new(pool, shape(), 0).unwrap()
    }

    #[test]
    fn a_block_is_sent_once_until_it_is_freed() {
        let pool = Pool::shared(1);
        let frames = FrameTable::new();
        let (first, file) = frames.share(frame(&pool)).unwrap();
        assert!(file.is_some() && first.is_new);
        drop(file);
        frames.release(first.handle);
        let (again, file) = frames.share(frame(&pool)).unwrap();
        assert_eq!((again.block, file.is_some()), (first.block, false));
        assert_ne!(again.handle, first.handle);
        assert!(frames.take_freed().is_empty());
        frames.release(again.handle);
        drop(pool);
        assert_eq!(frames.take_freed(), [first.block]);
        assert!(frames.take_freed().is_empty());
    }

    #[test]
    fn a_writable_frame_is_copied_when_emitted() {
        let pool = Pool::shared(2);
        let frames = FrameTable::new();
        let (writable, block) = frames.create(shape()).unwrap();
        let block = block.unwrap();
        assert_eq!(block.access(), Access::Write);
        // SAFETY: the frame has 512 bytes, and nothing reads them now.
        unsafe { block.pointer().write_bytes(7, 512) };
        let first = frames.emit(writable.handle, true, &pool, 1).unwrap();
        let sealed = first.block().unwrap().clone();
        assert_eq!((sealed.access(), pool.live(1)), (Access::Read, 1));
        // SAFETY: as above.
        unsafe { block.pointer().write_bytes(8, 512) };
        assert!(first.pixels().iter().all(|&pixel| pixel == 7));
        let again = frames.emit(writable.handle, false, &pool, 1).unwrap();
        assert_eq!(again.as_abi(), first.as_abi(), "unwritten: the same copy");
        let second = frames.emit(writable.handle, true, &pool, 1).unwrap();
        assert_eq!((first.pixels()[511], second.pixels()[511]), (7, 8));
        drop((first, again, second));
        assert_eq!(pool.statistics().live, 1);
        frames.release(writable.handle);
        assert_eq!(
            (pool.statistics().live, frames.own.statistics().live),
            (0, 0)
        );
        let error = frames.emit(writable.handle, true, &pool, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_read_only_frame_is_emitted_without_a_copy() {
        let pool = Pool::shared(1);
        let frames = FrameTable::new();
        let mine = frame(&pool);
        let (shared, _) = frames.share(mine.clone()).unwrap();
        let emitted = frames.emit(shared.handle, true, &pool, 0).unwrap();
        assert_eq!(emitted.as_abi(), mine.as_abi());
        frames.close();
        drop((mine, emitted));
        assert_eq!(pool.statistics().live, 0);
        assert!(frames.share(frame(&pool)).is_none());
        assert!(frames.create(shape()).is_none());
        assert_eq!(
            (pool.statistics().live, frames.own.statistics().live),
            (0, 0)
        );
    }

    #[test]
    fn only_read_only_shared_memory_is_shared() {
        let pool = Pool::new(1);
        assert!(FrameTable::new().share(frame(&pool)).is_none());
        assert!(FrameTable::new().share(frame(&Pool::writable())).is_none());
    }
}
