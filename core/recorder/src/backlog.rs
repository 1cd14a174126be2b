//! A queue from the stages to the thread of an observer, bounded in bytes.
//!
//! A note that there is no room for is dropped. The next queued note has the number of those dropped before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
/// The most bytes of notes in a queue.
pub(crate) const MOST_WAITING: usize = 64 << 20;

/// What is queued.
pub(crate) trait Queueable {
    /// Estimated bytes of the memory that it owns, without its own size.
    fn owned_bytes(&self) -> usize;
}

/// Creates an empty queue of at most `most` bytes. `when_dropped`: the warning of the first drop.
pub(crate) fn backlog<N>(
    most: usize,
    when_dropped: &'static str,
) -> (NoteSender<N>, NoteReceiver<N>) {
    let (notes, received) = crossbeam_channel::unbounded();
    let room = Arc::new(Room {
        most,
        when_dropped,
        bytes: AtomicUsize::new(0),
        dropped: AtomicU64::new(0),
        has_warned: AtomicBool::new(false),
    });
    let sender = NoteSender {
        notes,
        room: room.clone(),
    };
    let receiver = NoteReceiver {
        notes: received,
        room,
    };
    (sender, receiver)
}

/// The stages' end of the queue.
pub(crate) struct NoteSender<N> {
    notes: Sender<QueuedNote<N>>,
    room: Arc<Room>,
}

/// The end of the observer's thread.
pub(crate) struct NoteReceiver<N> {
    notes: Receiver<QueuedNote<N>>,
    room: Arc<Room>,
}

/// A note in the queue.
pub(crate) struct QueuedNote<N> {
    pub note: N,
    /// How many notes were dropped since the previous one.
    pub dropped_before: u64,
    size: usize,
}

struct Room {
    /// The most bytes.
    most: usize,
    when_dropped: &'static str,
    /// Bytes of the queued notes, and of the one that is being written.
    bytes: AtomicUsize,
    /// The notes that were dropped since the last queued one.
    dropped: AtomicU64,
    /// Whether the drop was logged.
    has_warned: AtomicBool,
}

impl<N> Clone for NoteSender<N> {
    fn clone(&self) -> Self {
        Self {
            notes: self.notes.clone(),
            room: self.room.clone(),
        }
    }
}

impl<N: Queueable> NoteSender<N> {
    /// Queues a note, or drops it.
    pub(crate) fn send(&self, note: N) {
        let size = size(&note);
        let most = self.room.most;
        let with = |bytes: usize| Some(bytes + size).filter(|bytes| *bytes <= most);
        let bytes = &self.room.bytes;
        if bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, with)
            .is_ok()
        {
            self.put(note, size);
            return;
        }
        self.room.dropped.fetch_add(1, Ordering::Relaxed);
        if !self.room.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("{}", self.room.when_dropped);
        }
    }

    /// Queues the last note, also without room for it.
    pub(crate) fn send_last(&self, note: N) {
        let size = size(&note);
        self.room.bytes.fetch_add(size, Ordering::Relaxed);
        self.put(note, size);
    }

    fn put(&self, note: N, size: usize) {
        let queued = QueuedNote {
            note,
            dropped_before: self.room.dropped.swap(0, Ordering::Relaxed),
            size,
        };
        // Fails only when the thread has ended: after an error that it returns, and after the last note.
        if self.notes.send(queued).is_err() {
            self.room.bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// Bytes of the queued notes, and of the one that is being written.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.room.bytes.load(Ordering::Relaxed)
    }
}

impl<N> NoteReceiver<N> {
    /// Returns the next note, waiting for it at most this long.
    pub(crate) fn receive(&self, at_most: Duration) -> Result<QueuedNote<N>, RecvTimeoutError> {
        self.notes.recv_timeout(at_most)
    }

    /// Frees the room of a note.
    pub(crate) fn free(&self, queued: &QueuedNote<N>) {
        self.room.bytes.fetch_sub(queued.size, Ordering::Relaxed);
    }
}

fn size<N: Queueable>(note: &N) -> usize {
    size_of::<QueuedNote<N>>() + note.owned_bytes()
}
