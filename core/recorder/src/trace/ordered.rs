//! Puts the notes of several machines in the order of their times.
//!
//! Those of other machines come later. A note is therefore held until it is some seconds old.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowpipe_host::clock::Clock;

use super::Note;
use crate::backlog::QueuedNote;

/// How old a note is when it is written. The recorders of other machines send at least twice a second.
const HELD_NS: i64 = 2_000_000_000;
/// The end of a call is put so much later, so that the messages that it took come before it, although clocks differ.
const SKEW_NS: i64 = 100_000_000;

/// Notes that are held.
pub(super) struct OrderedNotes {
    clock: Clock,
    /// The earliest first; those of one time as they came.
    held: BinaryHeap<Reverse<HeldNote>>,
    count: u64,
}

struct HeldNote {
    at_ns: i64,
    number: u64,
    queued: QueuedNote<Note>,
}

impl OrderedNotes {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            held: BinaryHeap::new(),
            count: 0,
        }
    }

    pub(super) fn hold(&mut self, queued: QueuedNote<Note>) {
        self.count += 1;
        self.held.push(Reverse(HeldNote {
            at_ns: match &queued.note {
                Note::Completion(slice) => slice.ended_ns.saturating_add(SKEW_NS),
                note => note.at_ns(),
            },
            number: self.count,
            queued,
        }));
    }

    /// The next note that is old enough.
    pub(super) fn next(&mut self) -> Option<QueuedNote<Note>> {
        let latest = self.clock.now().saturating_sub(HELD_NS);
        match self.held.peek() {
            Some(Reverse(note)) if note.at_ns <= latest => self.next_of_rest(),
            _ => None,
        }
    }

    /// The next note, when no more come.
    pub(super) fn next_of_rest(&mut self) -> Option<QueuedNote<Note>> {
        self.held.pop().map(|Reverse(note)| note.queued)
    }
}

impl HeldNote {
    fn key(&self) -> (i64, u64) {
        (self.at_ns, self.number)
    }
}

impl PartialEq for HeldNote {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for HeldNote {}

impl PartialOrd for HeldNote {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldNote {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
