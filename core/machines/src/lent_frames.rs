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
