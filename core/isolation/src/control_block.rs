//! The cancellation flags of a stage, which it polls often while it processes. They are in a page of shared memory, so
//! that polling is as cheap as in the host's own process.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use flowpipe_host::call::Cancellation;
use flowpipe_host::frame::memory::{Access, Block, Mapping};

/// The page in the host's process.
#[derive(Debug)]
pub(crate) struct ControlBlock(Block);

/// The page in the stage's process.
#[derive(Debug)]
pub(crate) struct ControlView(Mapping);

/// The page's content. Counters and flags are per call.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slots {
    /// The run's [`Mode`](flowpipe_host::run::Mode).
    pub mode: AtomicU32,
    /// The first mode in which the work of this stage is cancelled.
    pub cancels_from: AtomicU32,
    /// The number of the current call.
    pub call: AtomicU64,
    /// The number of the cancelled call, shifted left by two, and the reason.
    pub cancelled: AtomicU64,
    /// In a replay: after how many polls the recorded call was cancelled; [`NEVER`].
    pub recorded_after: AtomicU64,
    /// The recorded reason.
    pub recorded_reason: AtomicU32,
    /// 1: the call is a replay.
    pub is_replay: AtomicU32,
    /// How often the stage has polled in this call.
    pub polls: AtomicU64,
    /// After how many polls the stage first got "cancelled"; [`NEVER`].
    pub cancelled_after: AtomicU64,
    /// The reason.
    pub cancelled_reason: AtomicU32,
}

pub(crate) const NEVER: u64 = u64::MAX;
/// The reason when work is cancelled because the run ends; the others are those of the watchdog.
pub(crate) const STOP: u32 = 3;
const REASON: u64 = 3;

impl ControlBlock {
    /// # Errors
    /// When the system has no memory left.
    pub(crate) fn new(cancels_from: u32) -> io::Result<Self> {
        let block = Self(Block::new(size_of::<Slots>(), Access::Write)?);
        let slots = block.slots();
        slots.cancels_from.store(cancels_from, Ordering::Relaxed);
        Ok(block)
    }

    pub(crate) fn slots(&self) -> &Slots {
        // SAFETY: the block is as long as the slots, aligned to a page and zero at first, which is a valid value of
        // each slot; the other process uses atomics too.
        unsafe { self.0.pointer().cast().as_ref() }
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.0.file()
    }

    /// Resets the page for a call that is about to be sent. `recorded`: in a replay, when the recorded call was
    /// cancelled; the inner `None`: it was not.
    pub(crate) fn reset(&self, recorded: Option<Option<Cancellation>>) {
        let slots = self.slots();
        slots.polls.store(0, Ordering::Relaxed);
        slots.cancelled_after.store(NEVER, Ordering::Relaxed);
        let cancelled = recorded.flatten().map(|it| (it.after, it.reason));
        let (after, reason) = cancelled.unwrap_or((NEVER, 0));
        slots.recorded_after.store(after, Ordering::Relaxed);
        slots.recorded_reason.store(reason, Ordering::Relaxed);
        slots
            .is_replay
            .store(u32::from(recorded.is_some()), Ordering::Relaxed);
    }

    /// Sets the run's mode. It never decreases.
    pub(crate) fn set_mode(&self, mode: u32) {
        self.slots().mode.fetch_max(mode, Ordering::SeqCst);
    }

    /// Sets the number of the current call.
    pub(crate) fn set_call(&self, call: u64) {
        self.slots().call.store(call, Ordering::SeqCst);
    }

    /// Cancels a call.
    pub(crate) fn set_cancelled(&self, cancelled: u64) {
        self.slots().cancelled.store(cancelled, Ordering::SeqCst);
    }

    /// How often the stage has polled, and when it first got "cancelled", and why.
    pub(crate) fn polled(&self) -> (u64, Option<Cancellation>) {
        let slots = self.slots();
        let after = slots.cancelled_after.load(Ordering::Acquire);
        let reason = slots.cancelled_reason.load(Ordering::Relaxed);
        (
            slots.polls.load(Ordering::Acquire),
            (after != NEVER).then_some(Cancellation { after, reason }),
        )
    }
}

impl ControlView {
    /// # Errors
    /// When the system can't map it.
    pub(crate) fn new(file: &OwnedFd) -> io::Result<Self> {
        Ok(Self(Mapping::new(file, size_of::<Slots>(), Access::Write)?))
    }

    fn slots(&self) -> &Slots {
        // SAFETY: as for `ControlBlock::slots`.
        unsafe { self.0.pointer().cast().as_ref() }
    }

    /// Whether the work is cancelled. Counts the poll.
    pub(crate) fn is_cancelled(&self) -> bool {
        let slots = self.slots();
        let reason = self.reason();
        if let Some(reason) = reason
            && slots.cancelled_after.load(Ordering::Relaxed) == NEVER
        {
            slots.cancelled_reason.store(reason, Ordering::Relaxed);
            let polls = slots.polls.load(Ordering::Relaxed);
            slots.cancelled_after.store(polls, Ordering::Release);
        }
        slots.polls.fetch_add(1, Ordering::AcqRel);
        reason.is_some()
    }

    fn reason(&self) -> Option<u32> {
        let slots = self.slots();
        let mode = slots.mode.load(Ordering::Relaxed);
        let is_replay = slots.is_replay.load(Ordering::Relaxed) != 0;
        let cancelled = slots.cancelled.load(Ordering::SeqCst);
        let watched = (cancelled >> 2 == slots.call.load(Ordering::Relaxed))
            .then_some((cancelled & REASON) as u32);
        if is_replay {
            let polls = slots.polls.load(Ordering::Relaxed);
            let recorded = (polls >= slots.recorded_after.load(Ordering::Relaxed))
                .then(|| slots.recorded_reason.load(Ordering::Relaxed));
            return (mode >= ABORT).then_some(STOP).or(watched).or(recorded);
        }
        watched.or((mode >= slots.cancels_from.load(Ordering::Relaxed)).then_some(STOP))
    }

    /// Cancels all work: the host is gone.
    pub(crate) fn abort(&self) {
        self.slots().mode.fetch_max(ABORT, Ordering::SeqCst);
    }

    /// The run's mode.
    pub(crate) fn mode(&self) -> u32 {
        self.slots().mode.load(Ordering::Relaxed)
    }
}

/// [`flowpipe_host::run::Mode::Abort`].
const ABORT: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (ControlBlock, ControlView) {
        let block = ControlBlock::new(ABORT).unwrap();
        let file = block.file().try_clone_to_owned().unwrap();
        let view = ControlView::new(&file).unwrap();
        (block, view)
    }

    #[test]
    fn a_call_is_cancelled_once_and_counted() {
        let (block, view) = pair();
        block.slots().call.store(7, Ordering::Relaxed);
        block.reset(None);
        assert!(!view.is_cancelled());
        assert_eq!(block.polled(), (1, None));
        block.slots().cancelled.store(6 << 2 | 1, Ordering::SeqCst);
        assert!(!view.is_cancelled(), "that was the call before");
        block.slots().cancelled.store(7 << 2 | 2, Ordering::SeqCst);
        assert!(view.is_cancelled() && view.is_cancelled());
        assert_eq!(
            block.polled(),
            (
                4,
                Some(Cancellation {
                    after: 2,
                    reason: 2
                })
            )
        );
        block.slots().call.store(8, Ordering::Relaxed);
        block.reset(None);
        assert!(!view.is_cancelled());
    }

    #[test]
    fn a_replayed_call_is_cancelled_after_as_many_polls() {
        let (block, view) = pair();
        block.slots().call.store(1, Ordering::Relaxed);
        block.reset(Some(Some(Cancellation {
            after: 2,
            reason: 1,
        })));
        assert_eq!([(); 3].map(|()| view.is_cancelled()), [false, false, true]);
        block.reset(Some(None));
        assert!(!view.is_cancelled());
        block.slots().mode.store(ABORT, Ordering::Relaxed);
        assert!(view.is_cancelled());
    }
}
