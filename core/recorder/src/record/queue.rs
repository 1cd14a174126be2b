//! The recorder's queue, bounded in bytes.
//!
//! When it is full, new lineages are dropped until it is half empty: either everything that descends from one message
//! of a source is recorded, or nothing. Lineages that are partly recorded continue up to a second limit. One that
//! exceeds that limit is removed from the queue and dropped. An entry ahead of the next recorded item lists the dropped
//! lineages.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::frame::Frame;
use flowpipe_recording::Topic;
use flowpipe_sync::lock;

use crate::record::Item;
use crate::record::item_size::size_without_pixels;
use crate::record::lineages::{Lineages, MessageKey};

/// The queue between the stages and the recorder's thread.
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    drained: Condvar,
    /// A copy of `state.bytes`, to be read without the lock.
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
    /// The topics of the outputs where lineages start.
    names: HashMap<PortRef, Topic>,
    /// New lineages are dropped.
    is_full: bool,
    /// Whether the drop was logged.
    has_warned: bool,
    is_closed: bool,
}

struct Queued {
    item: Item,
    size: usize,
    dependency: Dependency,
}

/// The messages that an item depends on. It is dropped if one of them is.
#[derive(Clone, Debug)]
pub(crate) enum Dependency {
    /// A message: itself, and the root of its lineage, which may be itself.
    Message { own: MessageKey, root: MessageKey },
    /// A call: the message that it took, and those that it emitted.
    Call {
        took: Option<MessageKey>,
        emitted: Vec<MessageKey>,
        is_of_source: bool,
    },
    /// An item about a message.
    About(MessageKey),
    /// No message. Recorded as long as there is room.
    Nothing,
    /// Always recorded.
    Always,
}

/// The result of [`Queue::pop`].
pub(crate) enum Popped {
    /// An item, and its size.
    Item(Item, usize),
    /// No item before the deadline.
    Nothing,
    /// The queue is closed and empty.
    Over,
}

/// How often a stage that waits for room checks whether to give up.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Queue {
    /// Creates a queue of about `limit` bytes. `lossless`: nothing is dropped; callers wait for room before they push.
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

    /// Whether stages have to wait before they emit more.
    pub(crate) fn wants_time(&self) -> bool {
        self.lossless && self.bytes.load(Ordering::Relaxed) >= self.limit
    }

    /// Waits for room, or until `gives_up` returns true.
    pub(crate) fn wait_for_room(&self, gives_up: &dyn Fn() -> bool) {
        let mut state = lock(&self.state);
        while state.bytes >= self.limit && !state.is_closed && !gives_up() {
            let woken = self.drained.wait_timeout(state, POLL_INTERVAL);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Adds an item, or drops it.
    pub(crate) fn push(&self, item: Item, dependency: Dependency) {
        let size = size(&item);
        let mut state = lock(&self.state);
        if state.is_closed {
            return;
        }
        if self.lossless || state.admits(&item, &dependency, size, self.limit) {
            state.put(item, dependency, size);
        }
        self.note(&state);
        drop(state);
        self.filled.notify_one();
    }

    /// Returns the next item, waiting for it until the deadline.
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

    /// Notes that an item of this size was written.
    pub(crate) fn written(&self, size: usize) {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_sub(size);
        self.note(&state);
        drop(state);
        self.drained.notify_all();
    }

    /// Closes the queue. Queued items are still written.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        if !state.is_closed {
            state.record_dropped();
            state.is_closed = true;
        }
        drop(state);
        self.filled.notify_all();
        self.drained.notify_all();
    }

    /// Closes and clears the queue after an error or a panic of the writer.
    pub(crate) fn fail(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.bytes = 0;
        let items = std::mem::take(&mut state.items);
        self.note(&state);
        drop(state);
        // Dropped outside the lock: frames return to their pool.
        drop(items);
        self.drained.notify_all();
    }

    /// The number of dropped lineages, and of messages in them.
    pub(crate) fn dropped(&self) -> (u64, u64) {
        lock(&self.state).lineages.counts
    }

    fn note(&self, state: &MutexGuard<'_, State>) {
        self.bytes.store(state.bytes, Ordering::Relaxed);
    }
}

impl State {
    fn put(&mut self, item: Item, dependency: Dependency, size: usize) {
        self.bytes += size;
        self.items.push_back(Queued {
            item,
            size,
            dependency,
        });
    }

    /// Whether an item is recorded.
    fn admits(&mut self, item: &Item, dependency: &Dependency, size: usize, limit: usize) -> bool {
        // The second limit: for lineages that are partly recorded, and for items without one.
        let is_over_limit = self.bytes + size > limit + limit / 4;
        match dependency {
            Dependency::Message { own, root } if own == root => {
                self.admits_lineage(item, *own, self.bytes + size, limit)
            }
            Dependency::Message { own, root } => {
                if !self.lineages.is_gone(*root) && is_over_limit {
                    self.cut(*root, item);
                }
                let is_gone = self.lineages.is_gone(*root);
                if is_gone {
                    self.lineages.drop_message(*own);
                }
                !is_gone
            }
            Dependency::Call {
                took,
                emitted,
                is_of_source,
            } => {
                let is_gone = |message: &MessageKey| self.lineages.has_dropped(*message);
                let lacks = match is_of_source {
                    // One call may start many lineages. One that starts none is not needed.
                    true => emitted.iter().all(is_gone) && (self.is_full || !emitted.is_empty()),
                    // Rerun, it would emit messages that are not in the recording.
                    false => emitted.iter().any(is_gone),
                };
                !lacks && !took.as_ref().is_some_and(is_gone) && !is_over_limit
            }
            Dependency::About(message) => !self.lineages.has_dropped(*message) && !is_over_limit,
            Dependency::Nothing => !is_over_limit,
            Dependency::Always => true,
        }
    }

    /// Whether a new lineage is recorded.
    fn admits_lineage(
        &mut self,
        item: &Item,
        root: MessageKey,
        bytes: usize,
        limit: usize,
    ) -> bool {
        if self.is_full {
            self.is_full = bytes > limit / 2;
            if !self.is_full {
                self.record_dropped();
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

    /// Drops a lineage that is partly recorded. `item`: the item that there is no room for.
    fn cut(&mut self, root: MessageKey, item: &Item) {
        let is_of = |queued: &Queued| matches!(queued.dependency, Dependency::Message { root: it, .. } if it == root);
        let mut partly = true;
        let (mut kept, mut gone) = (VecDeque::new(), 0);
        for queued in self.items.drain(..) {
            if !is_of(&queued) {
                kept.push_back(queued);
                continue;
            }
            gone += queued.size;
            if let Dependency::Message { own, .. } = queued.dependency {
                self.lineages.drop_message(own);
                partly &= own != root;
            }
        }
        // Also drop calls that took or emitted dropped messages.
        let lineages = &self.lineages;
        kept.retain(|queued| {
            let lacks = match &queued.dependency {
                Dependency::Call {
                    took,
                    emitted,
                    is_of_source: false,
                } => took
                    .iter()
                    .chain(emitted)
                    .any(|it| lineages.has_dropped(*it)),
                Dependency::About(message) => lineages.has_dropped(*message),
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

    /// Sets whether the queue is full. Logs a warning the first time.
    fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
        if is_full && !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                "the recorder can't keep up: what descends from some frames is not recorded (with --record-lossless the \
                 run waits instead)"
            );
        }
    }

    /// Queues entries that list the dropped lineages, ahead of the next item.
    fn record_dropped(&mut self) {
        for dropped in self.lineages.take_pending() {
            let item = Item::DroppedLineages(dropped);
            let size = size(&item);
            self.put(item, Dependency::Always, size);
        }
    }
}

fn size(item: &Item) -> usize {
    let frame = match item {
        Item::Message(_, message, _) => message.frame(),
        _ => None,
    };
    size_without_pixels(item) + frame.map_or(0, Frame::size)
}

#[cfg(test)]
mod tests;
