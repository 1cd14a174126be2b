//! The messages that rerun stages have emitted and that are still to be taken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_host::message::Message;
use flowpipe_recording::{Encoding, Pixels, Topic};

/// The messages between the stages of a replay.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// How often each message is still to be taken.
    takers: HashMap<(Topic, u64), usize>,
    messages: HashMap<(Topic, u64), Arc<Message>>,
    /// The rerun stages that have not ended.
    working: HashSet<usize>,
    waiting: HashSet<usize>,
    /// Skipped calls, by stage and index.
    skipped: HashSet<(usize, usize)>,
}

impl Store {
    pub(crate) fn new(
        takers: HashMap<(Topic, u64), usize>,
        working: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            takers,
            working: working.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Stores a message for the calls that take it.
    pub(crate) fn keep(&mut self, topic: &Topic, message: Arc<Message>) {
        let key = (topic.clone(), message.lineage().sequence);
        if self.takers.contains_key(&key) {
            self.messages.insert(key, message);
            // Waiting stages check again.
            self.waiting.clear();
        }
    }

    pub(crate) fn take(&mut self, topic: &Topic, sequence: u64) -> Option<Arc<Message>> {
        let key = (topic.clone(), sequence);
        let message = self.messages.get(&key)?.clone();
        if let Some(left) = self.takers.get_mut(&key) {
            *left -= 1;
            if *left == 0 {
                self.takers.remove(&key);
                self.messages.remove(&key);
            }
        }
        Some(message)
    }

    /// Registers a waiting stage. Returns false if all others wait too, so that no message can arrive.
    pub(crate) fn wait(&mut self, stage: usize) -> bool {
        self.waiting.insert(stage);
        if self.waiting.len() < self.working.len() {
            return true;
        }
        self.waiting.remove(&stage);
        false
    }

    pub(crate) fn end_wait(&mut self, stage: usize) {
        self.waiting.remove(&stage);
    }

    pub(crate) fn end(&mut self, stage: usize) {
        self.working.remove(&stage);
        self.waiting.remove(&stage);
    }

    /// Notes a skipped call.
    pub(crate) fn skip(&mut self, stage: usize, call: usize) {
        self.skipped.insert((stage, call));
    }

    pub(crate) fn was_skipped(&self, stage: usize, call: usize) -> bool {
        self.skipped.contains(&(stage, call))
    }

    pub(crate) fn skipped(&self) -> usize {
        self.skipped.len()
    }

    pub(crate) fn has_ended(&self, stage: usize) -> bool {
        !self.working.contains(&stage)
    }
}

/// Creates a frame from recorded pixels. `None`: out of memory, or invalid pixels.
pub(crate) fn frame(pool: &Arc<Pool>, owner: u32, pixels: &Pixels<'_>) -> Option<Frame> {
    let shape = Shape::new(&abi::FrameInfo {
        struct_size: size_of::<abi::FrameInfo>() as u32,
        format: match pixels.encoding {
            Encoding::Bgra8 => abi::FORMAT_BGRA8,
            Encoding::Rgba8 => abi::FORMAT_RGBA8,
            Encoding::Bgr8 => abi::FORMAT_BGR8,
            Encoding::Rgb8 => abi::FORMAT_RGB8,
            Encoding::Grey8 => abi::FORMAT_GREY8,
        },
        width: pixels.width,
        height: pixels.height,
        stride: u64::from(pixels.stride),
        size: 0,
    })?;
    let mut frame = Frame::new(pool, shape, owner)?;
    let to = frame.write()?;
    if pixels.bytes.len() != shape.size() {
        return None;
    }
    // SAFETY: a frame holds `size` bytes, this is its only reference, and the bytes don't overlap.
    unsafe { std::ptr::copy_nonoverlapping(pixels.bytes.as_ptr(), to.as_ptr(), shape.size()) };
    Some(frame)
}
