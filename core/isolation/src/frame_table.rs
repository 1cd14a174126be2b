//! The frames that a stage's process refers to. The host counts one reference for each handle that it gave out, however
//! often the other side counts it; when that side dies, all of them are given up here.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, Weak};

use flowpipe_host::frame::memory::{Access, Block};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_sync::lock;

use crate::protocol;

/// The references of one process.
#[derive(Debug)]
pub(crate) struct FrameTable {
    /// Frames that the process makes: only it and the host see them.
    own: Arc<Pool>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    last: u64,
    frames: HashMap<u64, Reference>,
    /// The blocks that it has mapped.
    known: HashMap<u64, Weak<Block>>,
}

#[derive(Debug)]
struct Reference {
    frame: Frame,
    /// Of a frame that the process can write: what the others see of it.
    emitted: Option<Frame>,
}

/// So much may one process hold: enough for a stage that hoards pictures, and not all that the system has.
const MOST_FRAMES: usize = 4096;
const MOST_BYTES: u64 = 4 << 30;

/// A reference as it is sent: with the block whose file has to come along.
pub(crate) type Lent = (protocol::Frame, Option<Arc<Block>>);

impl FrameTable {
    pub(crate) fn new() -> Self {
        Self {
            own: Pool::writable(),
            table: Mutex::default(),
        }
    }

    /// Gives out a reference, to be read. `None`: the process is gone, or the frame does not lie in memory that others can
    /// be shown and can't write.
    pub(crate) fn lend(&self, frame: Frame) -> Option<Lent> {
        let block = frame.block()?;
        (block.access() == Access::Read).then(|| lock(&self.table).lend(frame))?
    }

    /// Makes a frame that the process can write, and gives out a reference. `None`: it holds too much, or memory is short.
    pub(crate) fn create(&self, shape: Shape) -> Option<Lent> {
        if !lock(&self.table).has_room(shape.size()) {
            return None;
        }
        let frame = Frame::new(&self.own, shape, 0)?;
        lock(&self.table).lend(frame)
    }

    /// The frame of a handle as others may see it: one more reference, of the host's own. Of what the process can write that
    /// is a copy in `pool`, the same one until the process has written again.
    ///
    /// # Errors
    /// When the process does not hold such a frame, or memory is short.
    pub(crate) fn emit(
        &self,
        handle: u64,
        is_written: bool,
        pool: &Arc<Pool>,
        owner: u32,
    ) -> io::Result<Frame> {
        let own = {
            let table = lock(&self.table);
            let none =
                || io::Error::new(io::ErrorKind::InvalidData, "a frame that it does not hold");
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
        // Outside of the lock: it takes time. Whatever the process writes meanwhile, what is emitted is what lies here then.
        let copy = own.copy(pool, owner);
        let copy = copy.ok_or_else(|| io::Error::other("there is no memory for its picture"))?;
        if let Some(reference) = lock(&self.table).frames.get_mut(&handle) {
            reference.emitted = Some(copy.clone());
        }
        Ok(copy)
    }

    /// Takes a reference back.
    pub(crate) fn take_back(&self, handle: u64) {
        let frame = lock(&self.table).frames.remove(&handle);
        // Outside the lock: freeing memory takes time.
        drop(frame);
    }

    /// The blocks that the process has mapped and that are no more.
    pub(crate) fn forget(&self) -> Vec<u64> {
        let mut table = lock(&self.table);
        let gone: Vec<_> = table
            .known
            .iter()
            .filter(|(_, block)| block.strong_count() == 0)
            .map(|(id, _)| *id)
            .collect();
        for id in &gone {
            table.known.remove(id);
        }
        gone
    }

    /// The process is gone: gives all references up.
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
        let held: u64 = frames.map(|frame| frame.shape().size() as u64).sum();
        self.frames.len() < MOST_FRAMES && held + size as u64 <= MOST_BYTES
    }

    fn lend(&mut self, frame: Frame) -> Option<Lent> {
        let handle = self.last + 1;
        let lent = self.tell(&frame, handle)?;
        self.last = handle;
        let emitted = None;
        self.frames.insert(handle, Reference { frame, emitted });
        Some(lent)
    }

    fn tell(&mut self, frame: &Frame, handle: u64) -> Option<Lent> {
        if self.closed {
            return None;
        }
        let block = frame.block()?;
        let is_new = self.known.insert(block.id, Arc::downgrade(block)).is_none();
        let told = protocol::Frame {
            handle,
            shape: frame.info().into(),
            block: block.id,
            is_new,
        };
        Some((told, is_new.then(|| block.clone())))
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
    fn a_block_is_sent_once_and_forgotten_when_it_is_gone() {
        let pool = Pool::shared(1);
        let held = FrameTable::new();
        let (first, file) = held.lend(frame(&pool)).unwrap();
        assert!(file.is_some() && first.is_new);
        drop(file);
        held.take_back(first.handle);
        let (again, file) = held.lend(frame(&pool)).unwrap();
        assert_eq!((again.block, file.is_some()), (first.block, false));
        assert_ne!(again.handle, first.handle);
        assert!(held.forget().is_empty());
        held.take_back(again.handle);
        drop(pool);
        assert_eq!(held.forget(), [first.block]);
        assert!(held.forget().is_empty());
    }

    #[test]
    fn others_see_a_copy_of_what_the_process_can_write() {
        let pool = Pool::shared(2);
        let held = FrameTable::new();
        let (made, block) = held.create(shape()).unwrap();
        let block = block.unwrap();
        assert_eq!(block.access(), Access::Write);
        // SAFETY: the frame has 512 bytes, and nobody reads them now.
        unsafe { block.pointer().write_bytes(7, 512) };
        let first = held.emit(made.handle, true, &pool, 1).unwrap();
        let sealed = first.block().unwrap().clone();
        assert_eq!((sealed.access(), pool.live(1)), (Access::Read, 1));
        // SAFETY: as above.
        unsafe { block.pointer().write_bytes(8, 512) };
        assert!(first.pixels().iter().all(|&pixel| pixel == 7));
        let again = held.emit(made.handle, false, &pool, 1).unwrap();
        assert_eq!(
            again.as_abi(),
            first.as_abi(),
            "it says that nothing has changed"
        );
        let second = held.emit(made.handle, true, &pool, 1).unwrap();
        assert_eq!((first.pixels()[511], second.pixels()[511]), (7, 8));
        drop((first, again, second));
        assert_eq!(pool.statistics().live, 1);
        held.take_back(made.handle);
        assert_eq!((pool.statistics().live, held.own.statistics().live), (0, 0));
        let error = held.emit(made.handle, true, &pool, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_came_from_others_is_sent_on_as_it_is() {
        let pool = Pool::shared(1);
        let held = FrameTable::new();
        let mine = frame(&pool);
        let (lent, _) = held.lend(mine.clone()).unwrap();
        let emitted = held.emit(lent.handle, true, &pool, 0).unwrap();
        assert_eq!(emitted.as_abi(), mine.as_abi());
        held.close();
        drop((mine, emitted));
        assert_eq!(pool.statistics().live, 0);
        assert!(held.lend(frame(&pool)).is_none());
        assert!(held.create(shape()).is_none());
        assert_eq!((pool.statistics().live, held.own.statistics().live), (0, 0));
    }

    #[test]
    fn what_another_process_can_write_is_not_lent() {
        let pool = Pool::new(1);
        assert!(FrameTable::new().lend(frame(&pool)).is_none());
        assert!(FrameTable::new().lend(frame(&Pool::writable())).is_none());
    }
}
