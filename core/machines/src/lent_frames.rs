//! Frames that the other machine may still read in the memory of this one.

use std::collections::BTreeMap;

use flowpipe_host::frame::Frame;

use crate::ranges::take_range;

/// How many bytes of them there may be. Further frames are sent.
const MOST_BYTES: usize = 256 << 20;

/// The frames of one channel, by the numbers of their messages.
#[derive(Default)]
pub(crate) struct LentFrames {
    frames: BTreeMap<u64, Frame>,
    bytes: usize,
}

impl LentFrames {
    /// Whether there may be more.
    pub(crate) fn have_room(&self) -> bool {
        self.bytes < MOST_BYTES
    }

    /// Keeps the frame of a message.
    pub(crate) fn keep(&mut self, number: u64, frame: Frame) {
        self.bytes += frame.size();
        self.frames.insert(number, frame);
    }

    /// Takes those of the messages from one number to another one. Drop them without a lock: they go back to their pool.
    pub(crate) fn take(&mut self, first: u64, last: u64) -> Vec<Frame> {
        let taken = take_range(&mut self.frames, first, last);
        let taken: Vec<_> = taken.into_iter().map(|(_, frame)| frame).collect();
        let bytes: usize = taken.iter().map(|frame| frame.size()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_abi as abi;
    use flowpipe_host::frame::Shape;
    use flowpipe_host::frame::pool::Pool;

    use super::*;

    #[test]
    fn no_more_is_lent_than_the_limit_and_what_comes_back_makes_room() {
        const SIDE: u32 = 4096;
        let shape = Shape {
            format: abi::FORMAT_GREY8,
            width: SIDE,
            height: SIDE,
            stride: u64::from(SIDE),
        };
        let pixels = vec![0; 16 << 20];
        let frame = Frame::from_bytes(&Pool::new(1), shape, 0, &pixels).unwrap();
        let mut lent = LentFrames::default();
        let mut count = 0;
        while lent.have_room() {
            count += 1;
            // One frame may be lent with several messages.
            lent.keep(count, frame.clone());
        }
        assert_eq!(count, 16, "frames of 16 MiB");
        assert!(lent.take(100, 200).is_empty());
        assert!(!lent.have_room());
        assert_eq!(lent.take(3, 4).len(), 2);
        assert!(lent.take(3, 4).is_empty(), "each comes back once");
        assert!(lent.have_room());
        assert_eq!(lent.take(0, u64::MAX).len(), 14);
        assert_eq!(lent.bytes, 0);
    }
}
