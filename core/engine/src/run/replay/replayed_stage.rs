//! A stage of a replay, and how far it has played its recorded calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flowpipe_recording::entry::{AboutStage, Call};

use crate::run::replay::NotRerunReason;

/// One stage of a replay.
pub(crate) struct ReplayedStage {
    pub(super) about: AboutStage,
    /// Its recorded calls, ordered by their start.
    pub(super) calls: Vec<Arc<Call>>,
    pub(super) runs_again: bool,
    /// Descriptions of its effects when it is rerun.
    pub(super) effects: Vec<String>,
    /// Why it is not rerun, if it could be expected to be.
    pub(super) withheld: Option<NotRerunReason>,
    /// It has another plugin than recorded: the recorded times do not limit it.
    pub(super) is_swapped: bool,
    /// The index of the next call.
    pub(super) next: AtomicUsize,
    /// Its plugin exceeded a limit and ignored the cancellation: the recorded messages of its further calls are used.
    pub(super) is_abandoned: AtomicBool,
}

impl ReplayedStage {
    /// The next call, with its index. `None`: there are no more, or `is_stopping`. Then the call in progress stays the
    /// current one: the stop may have cancelled it.
    pub(super) fn next_call(&self, is_stopping: bool) -> Option<(usize, &Call)> {
        if is_stopping {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.calls.get(number).map(|call| (number, &**call))
    }

    /// The index of the current call. Those before it were played.
    pub(super) fn current(&self) -> usize {
        self.next.load(Ordering::Relaxed).saturating_sub(1)
    }
}
