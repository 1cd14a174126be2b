//! The messages that were made anew and are still to be taken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use flowpipe_abi as abi;
use flowpipe_recording::{Encoding, Pixels};

use crate::frame::{Frame, Shape};
use crate::message::Message;
use crate::pool::Pool;
use crate::replay::ancestry::MessageKey;
use crate::replay::outputs::{OutputId, Outputs};

/// What lies between the stages of a replay.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// By output and place among its emissions.
    known: Vec<Vec<Slot>>,
    /// Messages that no recorded call emitted.
    unknown: HashMap<(OutputId, u64), Slot>,
    /// The stages that make messages anew and have not ended.
    working: HashSet<usize>,
    waiting: HashSet<usize>,
    /// By stage: what became of each of its calls, up to the last one that was left out.
    calls: Vec<Vec<Run>>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Run {
    /// It was run again, or is yet to be.
    #[default]
    Again,
    /// It was left out, and the recording says why.
    Explained,
    /// It was left out.
    LeftOut,
}

/// A message that is taken.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// How often it is still taken.
    takers: u32,
    message: Option<Arc<Message>>,
}

impl Store {
    /// A stage makes messages anew.
    pub(crate) fn works(&mut self, stage: usize) {
        self.working.insert(stage);
    }

    /// Somebody is going to take a message.
    pub(crate) fn add_taker(&mut self, key: MessageKey) {
        let output = Outputs::index(key.output);
        let slot = match key.place() {
            None => self.unknown.entry((key.output, key.sequence)).or_default(),
            Some(place) => {
                if self.known.len() <= output {
                    self.known.resize(output + 1, Vec::new());
                }
                let slots = &mut self.known[output];
                if slots.len() <= place {
                    slots.resize(place + 1, Slot::default());
                }
                &mut slots[place]
            }
        };
        slot.takers += 1;
    }

    fn slot(&mut self, key: MessageKey) -> Option<&mut Slot> {
        let slot = match key.place() {
            None => self.unknown.get_mut(&(key.output, key.sequence)),
            Some(place) => {
                let slots = self.known.get_mut(Outputs::index(key.output));
                slots.and_then(|slots| slots.get_mut(place))
            }
        };
        slot.filter(|slot| slot.takers > 0)
    }

    /// Whether a message is still taken.
    pub(crate) fn wants(&mut self, key: MessageKey) -> bool {
        self.slot(key).is_some()
    }

    /// Keeps a message for those that take it. Whether there are any.
    pub(crate) fn keep(&mut self, key: MessageKey, message: Arc<Message>) -> bool {
        let Some(slot) = self.slot(key) else {
            return false;
        };
        slot.message = Some(message);
        // Whoever waits looks again.
        self.waiting.clear();
        true
    }

    pub(crate) fn take(&mut self, key: MessageKey) -> Option<Arc<Message>> {
        let slot = self.slot(key)?;
        let message = slot.message.clone()?;
        slot.takers -= 1;
        if slot.takers == 0 {
            slot.message = None;
        }
        Some(message)
    }

    /// A stage begins to wait. False: all others wait too, so that nothing comes any more.
    pub(crate) fn wait(&mut self, stage: usize) -> bool {
        self.waiting.insert(stage);
        if self.waiting.len() < self.working.len() {
            return true;
        }
        self.waiting.remove(&stage);
        false
    }

    pub(crate) fn wait_no_more(&mut self, stage: usize) {
        self.waiting.remove(&stage);
    }

    pub(crate) fn end(&mut self, stage: usize) {
        self.working.remove(&stage);
        self.waiting.remove(&stage);
    }

    /// A call is left out.
    pub(crate) fn skip(&mut self, stage: usize, call: usize, is_explained: bool) {
        if self.calls.len() <= stage {
            self.calls.resize_with(stage + 1, Vec::new);
        }
        let calls = &mut self.calls[stage];
        if calls.len() <= call {
            calls.resize(call + 1, Run::Again);
        }
        calls[call] = match is_explained {
            true => Run::Explained,
            false => Run::LeftOut,
        };
    }

    /// Whether a call was left out, and whether the recording says why.
    pub(crate) fn skipped(&self, stage: usize, call: usize) -> Option<bool> {
        match self.calls.get(stage)?.get(call)? {
            Run::Again => None,
            Run::Explained => Some(true),
            Run::LeftOut => Some(false),
        }
    }

    /// How many calls were left out of which that holds.
    pub(crate) fn count_skipped(&self, counts: impl Fn(bool) -> bool) -> usize {
        let calls = self.calls.iter().flatten();
        let left_out = calls.filter(|run| match run {
            Run::Again => false,
            Run::Explained => counts(true),
            Run::LeftOut => counts(false),
        });
        left_out.count()
    }

    pub(crate) fn has_ended(&self, stage: usize) -> bool {
        !self.working.contains(&stage)
    }
}

/// Recorded pixels as a frame. `None`: memory is short, or they make no picture.
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
    // SAFETY: a frame holds `size` bytes, nobody else has this one, and the bytes lie elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(pixels.bytes.as_ptr(), to.as_ptr(), shape.size()) };
    Some(frame)
}
