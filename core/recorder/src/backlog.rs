//! The queue between the stages and the tracer's thread, bounded in bytes.
//!
//! A note that there is no room for is dropped. The next queued note has the number of those dropped before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use flowpipe_host::problem::Problem;

use super::{Note, Slice};

/// The most bytes of notes in the queue.
pub(super) const MOST_WAITING: usize = 64 << 20;

/// Creates an empty queue of at most `most` bytes.
pub(super) fn backlog(most: usize) -> (NoteSender, NoteReceiver) {
    let (notes, received) = crossbeam_channel::unbounded();
    let room = Arc::new(Room {
        most,
        ..Room::default()
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
#[derive(Clone)]
pub(super) struct NoteSender {
    notes: Sender<QueuedNote>,
    room: Arc<Room>,
}

/// The end of the tracer's thread.
pub(super) struct NoteReceiver {
    notes: Receiver<QueuedNote>,
    room: Arc<Room>,
}

/// A note in the queue.
pub(super) struct QueuedNote {
    pub note: Note,
    /// How many notes were dropped since the previous one.
    pub dropped_before: u64,
    size: usize,
}

#[derive(Default)]
struct Room {
    /// The most bytes.
    most: usize,
    /// Bytes of the queued notes, and of the one that is being written.
    bytes: AtomicUsize,
    /// The notes that were dropped since the last queued one.
    dropped: AtomicU64,
    /// Whether the drop was logged.
    has_warned: AtomicBool,
}

impl NoteSender {
    /// Queues a note, or drops it.
    pub(super) fn send(&self, note: Note) {
        let size = note.size();
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
            tracing::warn!(
                "the trace can't be written as fast as the run goes: it lacks some events"
            );
        }
    }

    /// Queues the last note, also without room for it.
    pub(super) fn send_last(&self, note: Note) {
        let size = note.size();
        self.room.bytes.fetch_add(size, Ordering::Relaxed);
        self.put(note, size);
    }

    fn put(&self, note: Note, size: usize) {
        let queued = QueuedNote {
            note,
            dropped_before: self.room.dropped.swap(0, Ordering::Relaxed),
            size,
        };
        // Fails only after a write error, which `Trace::finish` returns, and after the end of the trace.
        if self.notes.send(queued).is_err() {
            self.room.bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// Bytes of the queued notes, and of the one that is being written.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.room.bytes.load(Ordering::Relaxed)
    }
}

impl NoteReceiver {
    /// Returns the next note, waiting for it at most this long.
    pub(super) fn receive(&self, at_most: Duration) -> Result<QueuedNote, RecvTimeoutError> {
        self.notes.recv_timeout(at_most)
    }

    /// Frees the room of a note that was written.
    pub(super) fn written(&self, queued: QueuedNote) {
        self.room.bytes.fetch_sub(queued.size, Ordering::Relaxed);
    }
}

impl Note {
    /// Estimated bytes.
    fn size(&self) -> usize {
        let more = match self {
            Self::Completion(slice) => {
                size_of::<Slice>() + slice.failed.as_ref().map_or(0, String::len)
            }
            Self::Marked { name, .. } => name.len(),
            Self::Problem { problem, .. } => {
                let names = problem.stage.len() + problem.plugin.len();
                size_of::<Problem>() + names + problem.text.len()
            }
            Self::Began { .. }
            | Self::Emitted { .. }
            | Self::Dropped { .. }
            | Self::Clock { .. }
            | Self::Over => 0,
        };
        size_of::<QueuedNote>() + more
    }
}
