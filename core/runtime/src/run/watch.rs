//! What one worker is doing right now, for the watchdog to see.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::isolation::page::Page;
use crate::message::Message;
use crate::pipeline::PortRef;
use crate::run::supervisor::watchdog::nanoseconds;

/// The state of a worker: one plugin instance on one thread. The thread writes it around each
/// `process` call, the control thread reads it, and both may end the call: the thread by returning,
/// the control thread by giving the worker up. Only one of them succeeds.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The number of the call, shifted, and its phase.
    state: AtomicU64,
    /// The number of the call whose work is not wanted any more, shifted, and why.
    cancelled: AtomicU64,
    since: AtomicI64,
    /// How long the call may go on once it was cancelled, nanoseconds; 0: as long as the stage's watchdog says.
    grace: AtomicI64,
    /// Nanoseconds of this call spent waiting: for full queues, or because the plugin asked to.
    waited: AtomicI64,
    /// Since when it waits; 0: it doesn't.
    waits_since: AtomicI64,
    port: AtomicU64,
    source: [AtomicUsize; 2],
    sequence: AtomicU64,
    frame: AtomicU64,
    /// Where processes of their own see it.
    pages: OnceLock<Vec<Arc<Page>>>,
}

const PHASE: u64 = 3;
const IDLE: u64 = 0;
const BUSY: u64 = 1;
const GIVEN_UP: u64 = 2;

/// Number of one `process` call of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call(u64);

/// Why work is not wanted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// It took longer than the stage's timeout.
    Timeout = 1,
    /// Another contestant of the race was faster.
    Lost = 2,
    /// The run ends.
    Stop = 3,
}

impl Reason {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Self::Timeout, Self::Lost, Self::Stop]
            .into_iter()
            .find(|reason| *reason as u32 == number)
    }
}

/// A call in progress, as the watchdog sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub call: Call,
    /// Nanoseconds of work, waiting for full queues left out.
    pub worked: i64,
    pub cancelled: Option<Reason>,
    /// How long it may go on once it was cancelled, where that is not for the stage's watchdog to say.
    pub grace: Option<Duration>,
    /// When the call began.
    pub since: i64,
    pub message: Option<InHand>,
}

/// The message that a call works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InHand {
    /// The input that it came by.
    pub port: usize,
    /// The output that emitted it.
    pub source: PortRef,
    pub sequence: u64,
    /// The number of the frame that it descends from; 0: none.
    pub frame: u64,
}

impl Watch {
    /// A call begins.
    pub(crate) fn begin(&self, now: i64, message: Option<(usize, &Message)>) -> Call {
        let call = (self.state.load(Ordering::Relaxed) >> 2) + 1;
        self.since.store(now, Ordering::Relaxed);
        self.grace.store(0, Ordering::Relaxed);
        self.waited.store(0, Ordering::Relaxed);
        // Numbers begin at 1.
        let sequence = message.map_or(0, |(_, message)| message.lineage.sequence);
        if let Some((port, message)) = message {
            let frame = message.lineage.origin.map_or(0, |origin| origin.sequence);
            self.port.store(port as u64, Ordering::Relaxed);
            self.source[0].store(message.source.stage, Ordering::Relaxed);
            self.source[1].store(message.source.port, Ordering::Relaxed);
            self.frame.store(frame, Ordering::Relaxed);
        }
        self.sequence.store(sequence, Ordering::Relaxed);
        for page in self.pages.get().into_iter().flatten() {
            page.tell_call(call);
        }
        // Sequentially consistent: whoever wins a race either sees this call or is seen by it.
        self.state.store(call << 2 | BUSY, Ordering::SeqCst);
        Call(call)
    }

    /// A call has returned. False: the worker was given up meanwhile.
    pub(crate) fn end(&self, call: Call) -> bool {
        self.step(call, IDLE)
    }

    /// Gives the worker up. False: it has returned meanwhile.
    pub(crate) fn give_up(&self, call: Call) -> bool {
        self.step(call, GIVEN_UP)
    }

    fn step(&self, call: Call, phase: u64) -> bool {
        let (from, to) = (call.0 << 2 | BUSY, call.0 << 2 | phase);
        self.state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.state.load(Ordering::SeqCst) & PHASE == GIVEN_UP
    }

    /// Asks for the end of a call.
    pub(crate) fn cancel(&self, call: Call, reason: Reason) {
        let cancelled = call.0 << 2 | u64::from(reason as u32);
        self.cancelled.store(cancelled, Ordering::SeqCst);
        for page in self.pages.get().into_iter().flatten() {
            page.tell_cancelled(cancelled);
        }
    }

    /// Asks for the end of a call, which hangs when it goes on for so much longer.
    pub(crate) fn cancel_within(&self, call: Call, reason: Reason, grace: Duration) {
        let grace = i64::try_from(grace.as_nanos()).unwrap_or(i64::MAX);
        self.grace.store(grace.max(1), Ordering::Relaxed);
        self.cancel(call, reason);
    }

    /// Asks for the end of the call in progress, if there is one.
    pub(crate) fn cancel_current(&self, reason: Reason) {
        let state = self.state.load(Ordering::SeqCst);
        if state & PHASE == BUSY {
            self.cancel(Call(state >> 2), reason);
        }
    }

    pub(crate) fn cancelled(&self, call: Call) -> Option<Reason> {
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        (cancelled >> 2 == call.0)
            .then(|| Reason::from_number((cancelled & PHASE) as u32))
            .flatten()
    }

    /// From now on processes of their own see in these pages what is asked of the calls.
    pub(crate) fn show(&self, pages: Vec<Arc<Page>>) {
        for page in &pages {
            // What an earlier watch asked there is not meant for calls that are counted anew.
            page.tell_cancelled(0);
        }
        // A watch is shown once, before its first call.
        let _ = self.pages.set(pages);
    }

    /// The call waits and does no work from now on.
    pub(crate) fn waits(&self, now: i64) {
        self.waits_since.store(now.max(1), Ordering::Release);
    }

    /// It goes on.
    pub(crate) fn waited(&self, now: i64) {
        // Added before the mark is taken away: between the two a reader sees too little work, never
        // too much.
        self.waited.fetch_add(
            now - self.waits_since.load(Ordering::Relaxed),
            Ordering::Release,
        );
        self.waits_since.store(0, Ordering::Release);
    }

    /// Nanoseconds that the last call spent waiting.
    pub(crate) fn waited_in_call(&self) -> i64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// The call in progress, if there is one.
    pub(crate) fn look(&self, now: i64) -> Option<Look> {
        let state = self.state.load(Ordering::SeqCst);
        if state & PHASE != BUSY {
            return None;
        }
        let call = Call(state >> 2);
        let waits_since = self.waits_since.load(Ordering::Acquire);
        let waits = if waits_since == 0 {
            0
        } else {
            now - waits_since
        };
        let waited = self.waited.load(Ordering::Acquire) + waits;
        let since = self.since.load(Ordering::Relaxed);
        let sequence = self.sequence.load(Ordering::Relaxed);
        let message = (sequence != 0).then(|| InHand {
            port: self.port.load(Ordering::Relaxed) as usize,
            source: PortRef {
                stage: self.source[0].load(Ordering::Relaxed),
                port: self.source[1].load(Ordering::Relaxed),
            },
            sequence,
            frame: self.frame.load(Ordering::Relaxed),
        });
        let grace = self.grace.load(Ordering::Relaxed);
        let look = Look {
            grace: (grace > 0).then(|| nanoseconds(grace)),
            call,
            worked: now - since - waited,
            since,
            cancelled: self.cancelled(call),
            message,
        };
        // The fields belong together only when no other call began while they were read.
        (self.state.load(Ordering::SeqCst) == state).then_some(look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_work() {
        let watch = Watch::default();
        assert!(watch.look(5).is_none());
        let call = watch.begin(100, None);
        watch.waits(150);
        assert_eq!(watch.look(400).unwrap().worked, 50);
        watch.waited(500);
        assert_eq!(watch.look(510).unwrap().worked, 60);
        assert!(watch.end(call));
        assert!(watch.look(520).is_none());
    }

    #[test]
    fn a_call_ends_once() {
        let watch = Watch::default();
        let first = watch.begin(0, None);
        assert!(watch.end(first));
        assert!(!watch.give_up(first), "it has returned");
        let second = watch.begin(1, None);
        assert!(watch.give_up(second));
        assert!(!watch.end(second));
        assert!(watch.is_given_up());
    }

    #[test]
    fn cancelling_is_for_one_call() {
        let watch = Watch::default();
        let first = watch.begin(0, None);
        watch.cancel(first, Reason::Timeout);
        assert_eq!(watch.cancelled(first), Some(Reason::Timeout));
        watch.end(first);
        watch.cancel_current(Reason::Lost);
        let second = watch.begin(1, None);
        assert_eq!(watch.cancelled(second), None);
    }
}
