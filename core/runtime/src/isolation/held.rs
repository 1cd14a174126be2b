//! The frames that a stage's process refers to. The host counts one reference for each handle that it gave out, however
//! often the other side counts it; when that side dies, all of them are given up here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use crate::frame::Frame;
use crate::isolation::memory::Block;
use crate::isolation::words;
use crate::sync::lock;

/// The references of one process.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    last: u64,
    frames: HashMap<u64, Frame>,
    /// The blocks that it has mapped.
    known: HashMap<u64, Weak<Block>>,
}

/// So much may one process hold: enough for a stage that hoards pictures, and not all that the system has.
const MOST_FRAMES: usize = 4096;
const MOST_BYTES: u64 = 4 << 30;

/// A reference as it is sent: with the block whose file has to come along.
pub(crate) type Lent = (words::Frame, Option<Arc<Block>>);

impl Held {
    /// Gives out a reference. `None`: the process is gone, or the frame does not lie in shared memory.
    pub(crate) fn lend(&self, frame: Frame) -> Option<Lent> {
        lock(&self.0).lend(frame)
    }

    /// Whether it may be given a new frame of so many bytes.
    pub(crate) fn has_room(&self, size: usize) -> bool {
        lock(&self.0).has_room(size)
    }

    /// The frame of a handle: one more reference, of the host's own.
    pub(crate) fn get(&self, handle: u64) -> Option<Frame> {
        lock(&self.0).frames.get(&handle).cloned()
    }

    /// Takes a reference back.
    pub(crate) fn take_back(&self, handle: u64) {
        let frame = lock(&self.0).frames.remove(&handle);
        // Outside the lock: freeing memory takes time.
        drop(frame);
    }

    /// Makes the pixels of a frame its own: the same handle when nobody else refers to them, and a copy under a new one,
    /// which takes the old one's place, when somebody does. `copy`: the other side itself refers to it more than once, and
    /// keeps the old one. `None`: memory is short.
    pub(crate) fn write(&self, handle: u64, copy: bool) -> Option<Lent> {
        let mut frame = match copy {
            true => self
                .get(handle)
                .filter(|frame| self.has_room(frame.shape().size()))?,
            false => lock(&self.0).frames.remove(&handle)?,
        };
        let before = frame.as_abi();
        let written = frame.write().is_some();
        let mut table = lock(&self.0);
        if frame.as_abi() == before && !copy {
            let lent = written.then(|| table.tell(&frame, handle)).flatten();
            table.keep(handle, frame);
            return lent;
        }
        written.then(|| table.lend(frame)).flatten()
    }

    /// The blocks that the process has mapped and that are no more.
    pub(crate) fn forget(&self) -> Vec<u64> {
        let mut table = lock(&self.0);
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
            let mut table = lock(&self.0);
            table.closed = true;
            std::mem::take(&mut table.frames)
        };
        drop(frames);
    }
}

impl Table {
    fn has_room(&self, size: usize) -> bool {
        let sizes = self.frames.values().map(|frame| frame.shape().size());
        let held: u64 = sizes.map(|size| size as u64).sum();
        self.frames.len() < MOST_FRAMES && held + size as u64 <= MOST_BYTES
    }

    fn lend(&mut self, frame: Frame) -> Option<Lent> {
        let handle = self.last + 1;
        let lent = self.tell(&frame, handle)?;
        self.last = handle;
        self.keep(handle, frame);
        Some(lent)
    }

    fn keep(&mut self, handle: u64, frame: Frame) {
        if !self.closed {
            self.frames.insert(handle, frame);
        }
    }

    fn tell(&mut self, frame: &Frame, handle: u64) -> Option<Lent> {
        if self.closed {
            return None;
        }
        let block = frame.block()?;
        let is_new = self.known.insert(block.id, Arc::downgrade(block)).is_none();
        let told = words::Frame {
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

    use super::*;
    use crate::frame::Shape;
    use crate::pool::Pool;

    fn frame(pool: &Arc<Pool>) -> Frame {
        let info = abi::FrameInfo {
            struct_size: 0,
            format: abi::FORMAT_GREY8,
            width: 64,
            height: 8,
            stride: 0,
            size: 0,
        };
        Frame::new(pool, Shape::new(&info).unwrap(), 0).unwrap()
    }

    #[test]
    fn a_block_is_sent_once_and_forgotten_when_it_is_gone() {
        let pool = Pool::shared(1);
        let held = Held::default();
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
    fn what_others_see_is_copied_before_it_is_written() {
        let pool = Pool::shared(1);
        let held = Held::default();
        let mine = frame(&pool);
        let (lent, _) = held.lend(mine.clone()).unwrap();
        let (copy, _) = held.write(lent.handle, false).unwrap();
        assert_ne!((copy.handle, copy.block), (lent.handle, lent.block));
        assert!(held.get(lent.handle).is_none());
        let (same, _) = held.write(copy.handle, false).unwrap();
        assert_eq!((same.handle, same.block), (copy.handle, copy.block));
        let (other, _) = held.write(copy.handle, true).unwrap();
        assert_ne!(other.block, copy.block);
        drop(mine);
        assert_eq!(pool.statistics().live, 2);
        held.close();
        assert_eq!(pool.statistics().live, 0);
        assert!(held.lend(frame(&pool)).is_none());
        assert_eq!(pool.statistics().live, 0);
    }

    #[test]
    fn memory_of_this_process_alone_is_not_lent() {
        let pool = Pool::new(1);
        assert!(Held::default().lend(frame(&pool)).is_none());
    }
}
