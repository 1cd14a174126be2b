//! The counters of one edge. Each has one writer, so none needs a locked instruction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The counters of one edge.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    sender: SenderSide,
    receiver: ReceiverSide,
}

/// Written by the sender. On a cache line of its own, to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(64))]
struct SenderSide {
    offered: AtomicU64,
    dropped: AtomicU64,
    /// What receivers left behind that another one has replaced.
    left: AtomicU64,
    longest: AtomicU64,
}

/// Written by the receiver.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ReceiverSide {
    taken: AtomicU64,
    done: AtomicU64,
    closed: AtomicBool,
}

/// A snapshot of an edge's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeCounts {
    /// Messages that the sender offered.
    pub offered: u64,
    /// Of these, dropped because the queue was full, or left behind by a receiver that another one has replaced.
    pub dropped: u64,
    /// Of the dropped ones, those that were left behind.
    pub left: u64,
    /// Of these, taken by the receiver.
    pub taken: u64,
    /// Of these, fully processed.
    pub done: u64,
    /// The receiver is closed.
    pub closed: bool,
    /// The most that were queued at once.
    pub longest: u64,
}

impl Counters {
    pub(crate) fn offer(&self) {
        add(&self.sender.offered, 1);
    }

    pub(crate) fn drop_messages(&self, count: u64) {
        if count > 0 {
            add(&self.sender.dropped, count);
        }
    }

    pub(crate) fn note_length(&self, length: usize) {
        let length = length as u64;
        if length > self.sender.longest.load(Ordering::Relaxed) {
            self.sender.longest.store(length, Ordering::Relaxed);
        }
    }

    pub(crate) fn take(&self) {
        add(&self.receiver.taken, 1);
    }

    /// A message that was taken waits again.
    pub(crate) fn put_back(&self) {
        let taken = &self.receiver.taken;
        let left = taken.load(Ordering::Relaxed).saturating_sub(1);
        taken.store(left, Ordering::Release);
    }

    /// Marks everything taken so far as processed: the receiver asks for the next message.
    pub(crate) fn finish_taken(&self) {
        self.receiver.done.store(
            self.receiver.taken.load(Ordering::Relaxed),
            Ordering::SeqCst,
        );
    }

    /// Marks so many messages as processed, of an edge to another machine.
    pub(crate) fn finish(&self, count: u64) {
        self.receiver.done.fetch_add(count, Ordering::SeqCst);
    }

    pub(crate) fn close(&self) {
        self.receiver.closed.store(true, Ordering::SeqCst);
    }

    /// Reopens the edge for a new receiver, which has taken nothing. What the previous receiver left in the queue
    /// counts as dropped, but for so many messages that the new one gets. Call it while neither side is active.
    pub(crate) fn reopen(&self, kept: u64) {
        self.finish_taken();
        add(
            &self.sender.left,
            self.snapshot().outstanding().saturating_sub(kept),
        );
        self.receiver.closed.store(false, Ordering::SeqCst);
    }

    pub(crate) fn snapshot(&self) -> EdgeCounts {
        // Before `left`: what a receiver leaves behind moves there just before another one opens the edge again, and is never
        // missing from both.
        let closed = self.receiver.closed.load(Ordering::SeqCst);
        let left = self.sender.left.load(Ordering::SeqCst);
        let full = self.sender.dropped.load(Ordering::SeqCst);
        EdgeCounts {
            offered: self.sender.offered.load(Ordering::SeqCst),
            dropped: full.saturating_add(left),
            left,
            taken: self.receiver.taken.load(Ordering::SeqCst),
            done: self.receiver.done.load(Ordering::SeqCst),
            closed,
            longest: self.sender.longest.load(Ordering::Relaxed),
        }
    }
}

impl EdgeCounts {
    /// Messages that were dropped because the queue was full.
    pub(crate) fn full(&self) -> u64 {
        self.dropped.saturating_sub(self.left)
    }

    /// Messages that no receiver takes: the last one has ended, or another one has replaced it.
    pub(crate) fn lost(&self) -> u64 {
        match self.closed {
            true => self.left.saturating_add(self.outstanding()),
            false => self.left,
        }
    }

    /// Messages that wait for the receiver.
    pub(crate) fn waiting(&self) -> u64 {
        match self.closed {
            true => 0,
            false => self.outstanding(),
        }
    }

    /// Messages that were neither taken nor dropped: they are queued. After the end of the run they are discarded.
    pub(crate) fn outstanding(&self) -> u64 {
        self.offered
            .saturating_sub(self.dropped)
            .saturating_sub(self.taken)
    }
}

/// Adds to a counter that only this side writes.
fn add(number: &AtomicU64, count: u64) {
    number.store(number.load(Ordering::Relaxed) + count, Ordering::Release);
}
