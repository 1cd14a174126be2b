//! The messages that rerun stages have emitted and that are still to be taken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;

use crate::run::replay::ancestry::MessageKey;
use crate::run::replay::outputs::{OutputId, ReplayOutputs};

/// The messages between the stages of a replay.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// By output and place among its emissions.
    known: Vec<Vec<StoredMessage>>,
    /// Messages that no recorded call emitted.
    unknown: HashMap<(OutputId, u64), StoredMessage>,
    /// The rerun stages that have not ended.
    working: HashSet<usize>,
    waiting: HashSet<usize>,
    /// By stage: the states of its calls, up to the last one that did not run as recorded.
    calls: Vec<Vec<CallState>>,
    /// The bytes of all messages that it holds.
    held: usize,
}

/// The most bytes that a store holds. A stage may take what another emitted in any order, so that all of it would have
/// to be held.
const MOST_HELD: usize = 64 << 20;

/// The state of a recorded call in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallState {
    /// It was rerun, or will be.
    #[default]
    Rerun,
    /// It exceeded a limit, or was not made since one was exceeded: its recorded messages are used.
    Exceeded,
    /// It was skipped, and the recording gives the reason.
    SkippedExplained,
    /// It was skipped.
    Skipped,
}

/// A message that calls take.
#[derive(Clone, Debug, Default)]
struct StoredMessage {
    /// How often it is still to be taken.
    takers: u32,
    content: Option<Content>,
}

/// What the calls get that take a message.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// The message that was emitted.
    Emitted(Arc<Message>),
    /// The recorded message. Each call loads it, since nobody knows how long it would be held.
    Recorded,
}

/// Whether a message was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It was.
    Stored,
    /// No call takes it.
    Unwanted,
    /// There is no memory left for it: the calls that take it get the recorded one.
    Replaced,
}

impl Store {
    /// Adds a rerun stage.
    pub(crate) fn works(&mut self, stage: usize) {
        self.working.insert(stage);
    }

    /// Adds a call that will take a message.
    pub(crate) fn add_taker(&mut self, key: MessageKey) {
        let output = ReplayOutputs::index(key.output);
        let slot = match key.place() {
            None => self.unknown.entry((key.output, key.sequence)).or_default(),
            Some(place) => {
                if self.known.len() <= output {
                    self.known.resize(output + 1, Vec::new());
                }
                let slots = &mut self.known[output];
                if slots.len() <= place {
                    slots.resize(place + 1, StoredMessage::default());
                }
                &mut slots[place]
            }
        };
        slot.takers += 1;
    }

    fn slot(&mut self, key: MessageKey) -> Option<&mut StoredMessage> {
        let slot = match key.place() {
            None => self.unknown.get_mut(&(key.output, key.sequence)),
            Some(place) => {
                let slots = self.known.get_mut(ReplayOutputs::index(key.output));
                slots.and_then(|slots| slots.get_mut(place))
            }
        };
        slot.filter(|slot| slot.takers > 0)
    }

    /// Stores a message for the calls that take it. `is_limited`: within [`MOST_HELD`].
    pub(crate) fn keep(
        &mut self,
        key: MessageKey,
        message: Arc<Message>,
        is_limited: bool,
    ) -> Kept {
        let held = self.held.saturating_add(memory(&message));
        match is_limited && held > MOST_HELD {
            true => match self.put(key, Content::Recorded) {
                true => Kept::Replaced,
                false => Kept::Unwanted,
            },
            false => match self.put(key, Content::Emitted(message)) {
                true => Kept::Stored,
                false => Kept::Unwanted,
            },
        }
    }

    /// Makes the calls that take a message load the recorded one. False: there are none.
    pub(crate) fn keep_recorded(&mut self, key: MessageKey) -> bool {
        self.put(key, Content::Recorded)
    }

    fn put(&mut self, key: MessageKey, content: Content) -> bool {
        let added = content.memory();
        let Some(slot) = self.slot(key) else {
            return false;
        };
        let before = slot.content.replace(content);
        self.held += added;
        self.held -= before.map_or(0, |it| it.memory());
        // Waiting stages check again.
        self.waiting.clear();
        true
    }

    pub(crate) fn take(&mut self, key: MessageKey) -> Option<Content> {
        let slot = self.slot(key)?;
        let content = slot.content.clone()?;
        slot.takers -= 1;
        if slot.takers == 0 {
            slot.content = None;
            self.held -= content.memory();
        }
        Some(content)
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
    pub(crate) fn skip(&mut self, stage: usize, call: usize, is_explained: bool) {
        let state = match is_explained {
            true => CallState::SkippedExplained,
            false => CallState::Skipped,
        };
        self.note(stage, call, state);
    }

    /// Notes a call that exceeded a limit.
    pub(crate) fn exceed(&mut self, stage: usize, call: usize) {
        self.note(stage, call, CallState::Exceeded);
    }

    fn note(&mut self, stage: usize, call: usize, state: CallState) {
        if self.calls.len() <= stage {
            self.calls.resize_with(stage + 1, Vec::new);
        }
        let calls = &mut self.calls[stage];
        if calls.len() <= call {
            calls.resize(call + 1, CallState::Rerun);
        }
        calls[call] = state;
    }

    /// Whether a call exceeded a limit.
    pub(crate) fn exceeded(&self, stage: usize, call: usize) -> bool {
        let state = self.calls.get(stage).and_then(|calls| calls.get(call));
        state == Some(&CallState::Exceeded)
    }

    /// `Some`: the call was skipped; whether the recording gives the reason.
    pub(crate) fn skipped(&self, stage: usize, call: usize) -> Option<bool> {
        match self.calls.get(stage)?.get(call)? {
            CallState::Rerun | CallState::Exceeded => None,
            CallState::SkippedExplained => Some(true),
            CallState::Skipped => Some(false),
        }
    }

    /// The number of skipped calls for which `counts` returns true. Its argument: whether the recording gives the
    /// reason.
    pub(crate) fn count_skipped(&self, counts: impl Fn(bool) -> bool) -> usize {
        let calls = self.calls.iter().flatten();
        let skipped = calls.filter(|call| match call {
            CallState::Rerun | CallState::Exceeded => false,
            CallState::SkippedExplained => counts(true),
            CallState::Skipped => counts(false),
        });
        skipped.count()
    }

    pub(crate) fn has_ended(&self, stage: usize) -> bool {
        !self.working.contains(&stage)
    }
}

impl Content {
    fn memory(&self) -> usize {
        match self {
            Self::Emitted(message) => memory(message),
            Self::Recorded => 0,
        }
    }
}

/// The bytes of a message.
fn memory(message: &Message) -> usize {
    let pixels = message.frame().map_or(0, Frame::size);
    size_of::<Message>() + message.json().len() + pixels
}
