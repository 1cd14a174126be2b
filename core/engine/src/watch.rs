//! The current call of one worker, as the watchdog sees it.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::Message;
use flowpipe_host::run::StageProcess;
use flowpipe_sync::calls::{CallNumber, Calls};
use flowpipe_sync::lock;

use crate::edge::held_receipt::{HeldReceipt, ReceiptReleaser};

/// The state of a worker: one plugin instance on one thread. The thread writes it around each `process` call, the
/// control thread reads it. Both may end the call: the thread by returning, the control thread by abandoning the
/// worker. Only one of them succeeds.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    calls: Calls,
    /// The number of the cancelled call, shifted, and the reason.
    cancelled: AtomicU64,
    since: AtomicI64,
    /// Nanoseconds that the call may go on once it is cancelled; 0: the stage's watchdog decides.
    grace: AtomicI64,
    /// Nanoseconds of this call spent waiting: for full queues, for its turn, or because the plugin asked to.
    waited: AtomicI64,
    /// Since when it waits; 0: it does not wait.
    waits_since: AtomicI64,
    port: AtomicU64,
    source: [AtomicUsize; 2],
    sequence: AtomicU64,
    frame: AtomicU64,
    /// The processes of isolated plugins, to which cancellations are passed.
    processes: OnceLock<Vec<Arc<dyn StageProcess>>>,
    /// Of the last call that held a receipt.
    receipt: Mutex<ReceiptReleaser>,
}

/// The bits of a reason in [`Watch::cancelled`].
const REASON: u64 = 3;

/// Why a call is cancelled.
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

/// A snapshot of a call in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSnapshot {
    pub call: CallNumber,
    /// Nanoseconds since the call began, without waits.
    pub worked: i64,
    pub cancelled: Option<Reason>,
    /// How long it may go on once it is cancelled. `None`: the stage's watchdog decides.
    pub grace: Option<Duration>,
    /// When the call began.
    pub since: i64,
    pub message: Option<MessageSnapshot>,
}

/// The message that a call processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageSnapshot {
    /// Its input.
    pub port: usize,
    /// The output that emitted it.
    pub source: PortRef,
    pub sequence: u64,
    /// The sequence number of the frame that it descends from; 0: none.
    pub frame: u64,
}

impl Watch {
    /// Starts a call.
    pub(crate) fn begin(&self, now: i64, message: Option<(usize, &Message)>) -> CallNumber {
        self.calls.begin(|call| {
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
            for process in self.processes.get().into_iter().flatten() {
                process.set_call(call.0);
            }
        })
    }

    /// Ends a call that has returned. False: the worker was abandoned meanwhile.
    pub(crate) fn end(&self, call: CallNumber) -> bool {
        self.calls.end(call)
    }

    /// Abandons the worker. False: its call has returned meanwhile.
    pub(crate) fn abandon(&self, call: CallNumber) -> bool {
        self.calls.abandon(call)
    }

    /// The next call holds this receipt, which an abandoned worker would keep for ever.
    pub(crate) fn note_receipt(&self, receipt: &HeldReceipt) {
        // Most messages have none, and calls are many. The receipt of an earlier call is gone.
        if let Some(releaser) = receipt.releaser() {
            *lock(&self.receipt) = releaser;
        }
    }

    /// Releases the receipt of the call in which the worker was abandoned. No lock may be held.
    pub(crate) fn release_receipt(&self) {
        let releaser = std::mem::take(&mut *lock(&self.receipt));
        releaser.release();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.calls.is_abandoned()
    }

    /// Cancels a call.
    pub(crate) fn cancel(&self, call: CallNumber, reason: Reason) {
        let cancelled = call.0 << 2 | u64::from(reason as u32);
        self.cancelled.store(cancelled, Ordering::SeqCst);
        for process in self.processes.get().into_iter().flatten() {
            process.set_cancelled(cancelled);
        }
    }

    /// Cancels a call, which hangs if it goes on for `grace`.
    pub(crate) fn cancel_within(&self, call: CallNumber, reason: Reason, grace: Duration) {
        let grace = i64::try_from(grace.as_nanos()).unwrap_or(i64::MAX);
        self.grace.store(grace.max(1), Ordering::Relaxed);
        self.cancel(call, reason);
    }

    /// Cancels the call in progress, if there is one.
    pub(crate) fn cancel_current(&self, reason: Reason) {
        if let Some(call) = self.calls.current() {
            self.cancel(call, reason);
        }
    }

    pub(crate) fn cancelled(&self, call: CallNumber) -> Option<Reason> {
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        (cancelled >> 2 == call.0)
            .then(|| Reason::from_number((cancelled & REASON) as u32))
            .flatten()
    }

    /// Passes cancellations to these processes from now on.
    pub(crate) fn attach_processes(&self, processes: Vec<Arc<dyn StageProcess>>) {
        for process in &processes {
            // A cancellation of an earlier watch does not apply to the calls of this one.
            process.set_cancelled(0);
        }
        // Called once, before the first call.
        let _ = self.processes.set(processes);
    }

    /// The call starts to wait.
    pub(crate) fn begin_wait(&self, now: i64) {
        self.waits_since.store(now.max(1), Ordering::Release);
    }

    /// The call ends its wait.
    pub(crate) fn end_wait(&self, now: i64) {
        // Added before the start is reset: between the two a reader sees too short a call time, never too long a one.
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

    /// Returns a snapshot of the call in progress, if there is one.
    pub(crate) fn snapshot(&self, now: i64) -> Option<CallSnapshot> {
        self.calls.read(|call| {
            let waits_since = self.waits_since.load(Ordering::Acquire);
            let waits = if waits_since == 0 {
                0
            } else {
                now - waits_since
            };
            let waited = self.waited.load(Ordering::Acquire) + waits;
            let since = self.since.load(Ordering::Relaxed);
            let grace = self.grace.load(Ordering::Relaxed);
            CallSnapshot {
                call,
                worked: now - since - waited,
                cancelled: self.cancelled(call),
                grace: (grace > 0).then(|| nanoseconds(grace)),
                since,
                message: self.message(),
            }
        })
    }

    fn message(&self) -> Option<MessageSnapshot> {
        let sequence = self.sequence.load(Ordering::Relaxed);
        (sequence != 0).then(|| MessageSnapshot {
            port: self.port.load(Ordering::Relaxed) as usize,
            source: PortRef {
                stage: self.source[0].load(Ordering::Relaxed),
                port: self.source[1].load(Ordering::Relaxed),
            },
            sequence,
            frame: self.frame.load(Ordering::Relaxed),
        })
    }
}

/// A span of the run's clock; a negative one is none.
pub(crate) fn nanoseconds(time: i64) -> Duration {
    Duration::from_nanos(u64::try_from(time).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_time_excludes_waits() {
        let watch = Watch::default();
        assert!(watch.snapshot(5).is_none());
        let call = watch.begin(100, None);
        watch.begin_wait(150);
        assert_eq!(watch.snapshot(400).unwrap().worked, 50);
        watch.end_wait(500);
        assert_eq!(watch.snapshot(510).unwrap().worked, 60);
        assert!(watch.end(call));
        assert!(watch.snapshot(520).is_none());
    }

    #[test]
    fn a_call_ends_once() {
        let watch = Watch::default();
        let first = watch.begin(0, None);
        assert!(watch.end(first));
        assert!(!watch.abandon(first), "it has returned");
        let second = watch.begin(1, None);
        assert!(watch.abandon(second));
        assert!(!watch.end(second));
        assert!(watch.is_abandoned());
    }

    #[test]
    fn a_cancellation_applies_to_one_call() {
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
