//! The end of a bridge: what the other machine has sent is finished before this one sends its last item.
//!
//! Who receives the last item of a machine compares what it has sent with what that machine has finished. A message is
//! finished when what descends from it has arrived at the next machine, which another link reports. So the last item waits
//! for that. Where a stage has ended early, or that takes too long, this machine first ends the channel of the edge in its
//! own direction: what was sent on it is then not compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Shared;
use crate::control;

/// How long a machine whose run is over waits until what it has received is finished. What descends from it may wait for a
/// broken connection.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it checks that.
const FINISH_CHECK: Duration = Duration::from_millis(1);

/// What has come on an edge from the other machine.
#[derive(Default)]
pub(super) struct IncomingProgress {
    /// The last message has come, and all are passed on.
    is_complete: AtomicBool,
    /// How many of those that were passed on are not finished.
    unfinished: Arc<AtomicU64>,
}

impl IncomingProgress {
    /// Counts the messages that are passed on and not finished.
    pub(super) fn unfinished(&self) -> &Arc<AtomicU64> {
        &self.unfinished
    }

    /// The last message has come, and all are passed on.
    pub(super) fn complete(&self) {
        self.is_complete.store(true, Ordering::SeqCst);
    }

    fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::SeqCst)
    }

    fn is_finished(&self) -> bool {
        self.is_complete() && self.unfinished.load(Ordering::SeqCst) == 0
    }
}

/// After the end of the run here, before the last item to the other machine: waits until what has come is finished.
pub(super) fn end_incoming(shared: &Shared) {
    let deadline = Instant::now() + FINISH_TIMEOUT;
    let is_over = || {
        let is_dead = shared.is_dead.load(Ordering::Relaxed);
        is_dead || shared.is_closing() || Instant::now() >= deadline
    };
    for (&edge, incoming) in &shared.incoming {
        // What comes to a stage that has ended early is not waited for.
        while incoming.is_complete() && !incoming.is_finished() && !is_over() {
            std::thread::sleep(FINISH_CHECK);
        }
        if !incoming.is_finished() {
            shared.link.end(control::channel(edge));
        }
    }
}
