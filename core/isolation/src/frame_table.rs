//! The frames that a stage's process refers to. The host counts one reference for each handle that it sent, however
//! often the other process counts it; when that process ends, all of them are released here.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, Weak};

use flowpipe_host::frame::memory::{Access, Block};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{Frame, Layout};
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

    /// Creates a handle for a read-only frame.
    ///
    /// # Errors
    /// [`io::ErrorKind::QuotaExceeded`] when the process is over its limits; another one when it is gone, or the frame
    /// is not in shared read-only memory.
    pub(crate) fn share(&self, frame: Frame) -> io::Result<SharedFrame> {
        let is_read_only = |block: &Arc<Block>| block.access() == Access::Read;
        if !frame.block().is_some_and(is_read_only) {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "there is no memory for its frame",
            ));
        }
        let mut table = lock(&self.table);
        table.check_room(frame.size())?;
        let shared = table.share(frame);
        shared.ok_or_else(|| io::ErrorKind::ConnectionAborted.into())
    }

    /// Allocates a frame that the process can write, with a handle. `None`: the process is over its limits, or memory
    /// is short.
    pub(crate) fn create(&self, layout: impl Into<Layout>) -> Option<SharedFrame> {
        let layout = layout.into();
        lock(&self.table).check_room(layout.size()).ok()?;
        let frame = Frame::new(&self.own, layout, 0)?;
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
        let copy = copy.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::OutOfMemory,
                "there is no memory for its frame",
            )
        })?;
        let mut table = lock(&self.table);
        // Without room for it the copy is not kept for the next time.
        let has_room = table.check_bytes(copy.size()).is_ok();
        if let Some(reference) = table.frames.get_mut(&handle) {
            reference.emitted = has_room.then(|| copy.clone());
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
    /// Checks that there is room for one more frame.
    fn check_room(&self, size: usize) -> io::Result<()> {
        if self.frames.len() >= MOST_FRAMES {
            return Err(over_limit(format!("{MOST_FRAMES} frames")));
        }
        self.check_bytes(size)
    }

    /// Checks that there is room for so many more bytes.
    fn check_bytes(&self, size: usize) -> io::Result<()> {
        let frames = self.frames.values();
        let frames = frames.flat_map(|it| std::iter::once(&it.frame).chain(&it.emitted));
        let used: u64 = frames.map(|frame| frame.size() as u64).sum();
        match used + size as u64 <= MOST_BYTES {
            true => Ok(()),
            false => Err(over_limit(format!("{} GiB of frames", MOST_BYTES >> 30))),
        }
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
            layout: *frame.layout(),
            block: block.id,
            is_new,
        };
        Some((wire, is_new.then(|| block.clone())))
    }
}

fn over_limit(held: String) -> io::Error {
    let what = format!("it holds {held}, the most that a stage may hold");
    io::Error::new(io::ErrorKind::QuotaExceeded, what)
}

#[cfg(test)]
mod tests {
    use flowpipe_abi as abi;
    use flowpipe_host::frame::Shape;
    use flowpipe_host::frame::pool::Pool;

    use super::*;

    fn shape_info() -> abi::FrameInfo {
        abi::FrameInfo {
            struct_size: 0,
            format: abi::FORMAT_GREY8,
            width: 64,
            height: 8,
            stride: 0,
            size: 0,
        }
    }

    fn shape() -> Shape {
        Shape::new(&shape_info()).unwrap()
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
        assert!(first.bytes().iter().all(|&pixel| pixel == 7));
        let again = frames.emit(writable.handle, false, &pool, 1).unwrap();
        assert_eq!(again.as_abi(), first.as_abi(), "unwritten: the same copy");
        let second = frames.emit(writable.handle, true, &pool, 1).unwrap();
        assert_eq!((first.bytes()[511], second.bytes()[511]), (7, 8));
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
        assert!(frames.share(frame(&pool)).is_err());
        assert!(frames.create(shape()).is_none());
        assert_eq!(
            (pool.statistics().live, frames.own.statistics().live),
            (0, 0)
        );
    }

    #[test]
    fn a_process_holds_a_bounded_number_of_frames() {
        let pool = Pool::shared(1);
        let frames = FrameTable::new();
        let sent = frame(&pool);
        let handles: Vec<_> = (0..MOST_FRAMES)
            .map(|_| frames.share(sent.clone()).unwrap().0.handle)
            .collect();
        let error = frames.share(sent.clone()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert!(frames.create(shape()).is_none());
        frames.release(handles[7]);
        assert!(frames.share(sent).is_ok());
    }

    #[test]
    fn a_process_holds_a_bounded_number_of_bytes() {
        let (pool, frames) = (Pool::shared(1), FrameTable::new());
        let info = abi::FrameInfo {
            width: 16 << 10,
            height: 16 << 10,
            ..shape_info()
        };
        let large = Frame::new(&pool, Shape::new(&info).unwrap(), 0).unwrap();
        let size = large.size() as u64;
        for _ in 0..MOST_BYTES / size {
            frames.share(large.clone()).unwrap();
        }
        let error = frames.share(large).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
        assert!(error.to_string().contains("4 GiB of frames"), "{error}");
    }

    #[test]
    fn only_read_only_shared_memory_is_shared() {
        let pool = Pool::new(1);
        assert!(FrameTable::new().share(frame(&pool)).is_err());
        assert!(FrameTable::new().share(frame(&Pool::writable())).is_err());
    }
}
