//! What waits to be recorded: a queue that is bounded in bytes.
//!
//! When it is full, no new lineages begin in the recording until it is half empty: of what descends from one message of a
//! source, all is recorded or nothing is. Lineages that have begun go on up to a second limit; one that meets that is
//! taken out of the queue, and nothing more of it is recorded. What was dropped is told in the recording by an entry
//! ahead of what is recorded next.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::Message;
use flowpipe_recording::Topic;
use flowpipe_sync::lock;

use crate::record::Item;
use crate::record::lineages::{Key, Lineages};

/// The queue between the stages and the thread that writes.
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    drained: Condvar,
    /// As in the state, for a look without a lock.
    bytes: AtomicUsize,
    limit: usize,
    lossless: bool,
}

#[derive(Default)]
struct State {
    items: VecDeque<Queued>,
    /// Bytes of the items, and of the one that is being written.
    bytes: usize,
    lineages: Lineages,
    /// Of the outputs that lineages begin at.
    names: HashMap<PortRef, Topic>,
    /// No new lineages begin.
    is_full: bool,
    /// That has been told.
    has_warned: bool,
    is_closed: bool,
}

struct Queued {
    item: Item,
    size: usize,
    belongs: Belongs,
}

/// What an item needs in the recording.
#[derive(Clone, Debug)]
pub(crate) enum Belongs {
    /// A message: itself, and what it descends from, which may be itself.
    Message { own: Key, root: Key },
    /// A call: the message that it took, and those that it emitted.
    Call {
        took: Option<Key>,
        emitted: Vec<Key>,
        is_of_source: bool,
    },
    /// What is said of a message.
    About(Key),
    /// What is recorded as long as there is any room.
    Nothing,
    /// What is always recorded.
    Always,
}

/// What there is to write.
pub(crate) enum Popped {
    /// An item, and its size.
    Item(Item, usize),
    /// Nothing so far.
    Nothing,
    /// Nothing any more.
    Over,
}

/// Bytes of an item beside its text and its pixels.
const ITEM: usize = 256;
/// How often a stage that waits for room looks whether it is still to wait.
const LOOK: Duration = Duration::from_millis(20);

impl Queue {
    /// Holds about so many bytes. `lossless`: nothing is dropped; whoever pushes is to wait for room before.
    pub(crate) fn new(limit: usize, lossless: bool) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            drained: Condvar::new(),
            bytes: AtomicUsize::new(0),
            limit,
            lossless,
        })
    }

    /// Whether stages are to wait before they emit more.
    pub(crate) fn wants_time(&self) -> bool {
        self.lossless && self.bytes.load(Ordering::Relaxed) >= self.limit
    }

    /// Waits for room, or until the waiting is given up.
    pub(crate) fn wait_for_room(&self, gives_up: &dyn Fn() -> bool) {
        let mut state = lock(&self.state);
        while state.bytes >= self.limit && !state.is_closed && !gives_up() {
            let woken = self.drained.wait_timeout(state, LOOK);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Adds an item, or drops it.
    pub(crate) fn push(&self, item: Item, belongs: Belongs) {
        let mut state = lock(&self.state);
        if state.is_closed {
            return;
        }
        let size = size(&item);
        if self.lossless || state.admits(&item, &belongs, size, self.limit) {
            state.put(item, belongs, size);
        }
        self.note(&state);
        drop(state);
        self.filled.notify_one();
    }

    /// The next item, waiting for it until then.
    pub(crate) fn pop(&self, until: Instant) -> Popped {
        let mut state = lock(&self.state);
        loop {
            if let Some(Queued { item, size, .. }) = state.items.pop_front() {
                return Popped::Item(item, size);
            }
            if state.is_closed {
                return Popped::Over;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Popped::Nothing;
            };
            let woken = self.filled.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// An item of this size was written.
    pub(crate) fn written(&self, size: usize) {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_sub(size);
        self.note(&state);
        drop(state);
        self.drained.notify_all();
    }

    /// Takes nothing more. What is queued is still written.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        if !state.is_closed {
            state.tell_dropped();
            state.is_closed = true;
        }
        drop(state);
        self.filled.notify_all();
        self.drained.notify_all();
    }

    /// Nothing can be written any more.
    pub(crate) fn fail(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.bytes = 0;
        let items = std::mem::take(&mut state.items);
        self.note(&state);
        drop(state);
        // Frames among them go back to their pool outside of the lock.
        drop(items);
        self.drained.notify_all();
    }

    /// How many lineages were dropped, and how many messages in them.
    pub(crate) fn dropped(&self) -> (u64, u64) {
        lock(&self.state).lineages.counts
    }

    fn note(&self, state: &MutexGuard<'_, State>) {
        self.bytes.store(state.bytes, Ordering::Relaxed);
    }
}

impl State {
    fn put(&mut self, item: Item, belongs: Belongs, size: usize) {
        self.bytes += size;
        self.items.push_back(Queued {
            item,
            size,
            belongs,
        });
    }

    /// Whether an item is recorded.
    fn admits(&mut self, item: &Item, belongs: &Belongs, size: usize, limit: usize) -> bool {
        // Lineages that have begun, and what belongs to none.
        let is_crammed = self.bytes + size > limit + limit / 4;
        match belongs {
            Belongs::Message { own, root } if own == root => {
                self.begins(item, *own, self.bytes + size, limit)
            }
            Belongs::Message { own, root } => {
                if !self.lineages.is_gone(*root) && is_crammed {
                    self.cut(*root, item);
                }
                let is_gone = self.lineages.is_gone(*root);
                if is_gone {
                    self.lineages.drop_message(*own);
                }
                !is_gone
            }
            Belongs::Call {
                took,
                emitted,
                is_of_source,
            } => {
                let is_gone = |message: &Key| self.lineages.has_dropped(*message);
                let lacks = match is_of_source {
                    // One call may begin many lineages; one that begins none says nothing that is needed.
                    true => emitted.iter().all(is_gone) && (self.is_full || !emitted.is_empty()),
                    // Run again, it would give what is not in the recording.
                    false => emitted.iter().any(is_gone),
                };
                !lacks && !took.as_ref().is_some_and(is_gone) && !is_crammed
            }
            Belongs::About(message) => !self.lineages.has_dropped(*message) && !is_crammed,
            Belongs::Nothing => !is_crammed,
            Belongs::Always => true,
        }
    }

    /// Whether a lineage begins in the recording.
    fn begins(&mut self, item: &Item, root: Key, bytes: usize, limit: usize) -> bool {
        if self.is_full {
            self.is_full = bytes > limit / 2;
            if !self.is_full {
                self.tell_dropped();
            }
        } else {
            self.set_full(bytes > limit);
        }
        if let Item::Message(topic, message, _) = item {
            let topic = &*self.names.entry(root.0).or_insert_with(|| topic.clone());
            if self.is_full {
                let at_ns = message.emitted_ns();
                self.lineages.drop_lineage(root, topic, false, at_ns);
                self.lineages.drop_message(root);
            }
        }
        !self.is_full
    }

    /// Ends a lineage that has begun. `item`: what there is no room for.
    fn cut(&mut self, root: Key, item: &Item) {
        let is_of = |queued: &Queued| matches!(queued.belongs, Belongs::Message { root: it, .. } if it == root);
        let mut partly = true;
        let (mut kept, mut gone) = (VecDeque::new(), 0);
        for queued in self.items.drain(..) {
            if !is_of(&queued) {
                kept.push_back(queued);
                continue;
            }
            gone += queued.size;
            if let Belongs::Message { own, .. } = queued.belongs {
                self.lineages.drop_message(own);
                partly &= own != root;
            }
        }
        // Calls that took or emitted what is gone go too.
        let lineages = &self.lineages;
        kept.retain(|queued| {
            let lacks = match &queued.belongs {
                Belongs::Call {
                    took,
                    emitted,
                    is_of_source: false,
                } => took
                    .iter()
                    .chain(emitted)
                    .any(|it| lineages.has_dropped(*it)),
                Belongs::About(message) => lineages.has_dropped(*message),
                _ => false,
            };
            gone += if lacks { queued.size } else { 0 };
            !lacks
        });
        self.items = kept;
        self.bytes = self.bytes.saturating_sub(gone);
        if let (Item::Message(_, message, _), Some(topic)) = (item, self.names.get(&root.0)) {
            let at_ns = message.emitted_ns();
            self.lineages.drop_lineage(root, topic, partly, at_ns);
        }
        self.set_full(true);
    }

    /// No lineage begins while it is full. The first time is told.
    fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
        if is_full && !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                "the recorder can't keep up: what descends from some frames is not recorded (--record-lossless has \
                 the run wait instead)"
            );
        }
    }

    /// Queues entries of what was dropped, ahead of what comes next.
    fn tell_dropped(&mut self) {
        for dropped in self.lineages.take_untold() {
            self.put(Item::DroppedLineages(dropped), Belongs::Always, ITEM);
        }
    }
}

fn size(item: &Item) -> usize {
    ITEM + match item {
        Item::Message(_, message, _) => message_size(message),
        Item::Call(call) => {
            let lists = call.emitted.len() + call.marks.len() + call.waits.len();
            64 * lists + 8 * call.clock.len() + call.failed.as_ref().map_or(0, String::len)
        }
        Item::Problem(problem) => problem.text.len(),
        Item::Dropped(_) | Item::DroppedLineages(_) | Item::Change(_) => 0,
    }
}

fn message_size(message: &Message) -> usize {
    let hops = size_of_val(&*message.lineage().hops);
    let pixels = message.frame().map_or(0, |frame| frame.shape().size());
    message.json().len() + hops + pixels
}

#[cfg(test)]
mod tests;
