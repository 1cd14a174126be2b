//! What a stage asks again and again while it works: whether its work is still wanted. It reads that in a page of memory
//! that both processes see, so that asking costs no more than in the host's own process.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use flowpipe_host::call::Cancellation;
use flowpipe_host::frame::memory::{Access, Block, Mapping};

/// The page as the host has it.
#[derive(Debug)]
pub(crate) struct ControlBlock(Block);

/// The page as the other process has it.
#[derive(Debug)]
pub(crate) struct ControlView(Mapping);

/// What stands there.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slots {
    /// How far the run is on its way to the end ([`Mode`](flowpipe_host::run::Mode)).
    pub mode: AtomicU32,
    /// From which mode on the work of this stage is cancelled.
    pub cancels_from: AtomicU32,
    /// The number of the call in progress.
    pub call: AtomicU64,
    /// The number of the call whose work is not wanted any more, shifted, and why
    /// .
    pub cancelled: AtomicU64,
    /// After how many questions the work became unwanted when this call was recorded; [`NEVER`].
    pub script_after: AtomicU64,
    /// Why then.
    pub script_reason: AtomicU32,
    /// The call is run again.
    pub scripted: AtomicU32,
    /// How often the stage has asked in this call.
    pub asked: AtomicU64,
    /// After how many questions it was told that its work is not wanted; [`NEVER`].
    pub told_after: AtomicU64,
    /// Why.
    pub told_reason: AtomicU32,
}

pub(crate) const NEVER: u64 = u64::MAX;
/// The reason of work that ends with the run; the others are those of the watch.
pub(crate) const STOP: u32 = 3;
const REASON: u64 = 3;

impl ControlBlock {
    /// # Errors
    /// When the system has no memory left.
    pub(crate) fn new(cancels_from: u32) -> io::Result<Self> {
        let page = Self(Block::new(size_of::<Slots>(), Access::Write)?);
        let slots = page.slots();
        slots.cancels_from.store(cancels_from, Ordering::Relaxed);
        Ok(page)
    }

    pub(crate) fn slots(&self) -> &Slots {
        // SAFETY: the block is as long as the slots, aligned to a page and zero at first, which is a value of each slot;
        // whoever else sees it uses atomics too.
        unsafe { self.0.pointer().cast().as_ref() }
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.0.file()
    }

    /// A call is about to be sent. `recorded`: when its work was cancelled, where a recorded call
    /// runs again; the inner `None`: it was not.
    pub(crate) fn begin(&self, recorded: Option<Option<Cancellation>>) {
        let slots = self.slots();
        slots.asked.store(0, Ordering::Relaxed);
        slots.told_after.store(NEVER, Ordering::Relaxed);
        let cancelled = recorded.flatten().map(|it| (it.after, it.reason));
        let (after, reason) = cancelled.unwrap_or((NEVER, 0));
        slots.script_after.store(after, Ordering::Relaxed);
        slots.script_reason.store(reason, Ordering::Relaxed);
        slots
            .scripted
            .store(u32::from(recorded.is_some()), Ordering::Relaxed);
    }

    /// The run is so far on its way to the end.
    pub(crate) fn set_mode(&self, mode: u32) {
        self.slots().mode.fetch_max(mode, Ordering::SeqCst);
    }

    /// A call begins.
    pub(crate) fn set_call(&self, call: u64) {
        self.slots().call.store(call, Ordering::SeqCst);
    }

    /// A call's work is not wanted any more.
    pub(crate) fn set_cancelled(&self, cancelled: u64) {
        self.slots().cancelled.store(cancelled, Ordering::SeqCst);
    }

    /// How often the stage has asked, and after how many questions it was told that its work is not wanted, and why.
    pub(crate) fn asked(&self) -> (u64, Option<Cancellation>) {
        let slots = self.slots();
        let after = slots.told_after.load(Ordering::Acquire);
        let reason = slots.told_reason.load(Ordering::Relaxed);
        (
            slots.asked.load(Ordering::Acquire),
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

    /// The stage asks whether its work is still wanted.
    pub(crate) fn is_cancelled(&self) -> bool {
        let slots = self.slots();
        let reason = self.reason();
        if let Some(reason) = reason
            && slots.told_after.load(Ordering::Relaxed) == NEVER
        {
            slots.told_reason.store(reason, Ordering::Relaxed);
            let asked = slots.asked.load(Ordering::Relaxed);
            slots.told_after.store(asked, Ordering::Release);
        }
        slots.asked.fetch_add(1, Ordering::AcqRel);
        reason.is_some()
    }

    fn reason(&self) -> Option<u32> {
        let slots = self.slots();
        let mode = slots.mode.load(Ordering::Relaxed);
        let scripted = slots.scripted.load(Ordering::Relaxed) != 0;
        let cancelled = slots.cancelled.load(Ordering::SeqCst);
        let watched = (cancelled >> 2 == slots.call.load(Ordering::Relaxed))
            .then_some((cancelled & REASON) as u32);
        if scripted {
            let asked = slots.asked.load(Ordering::Relaxed);
            let script = (asked >= slots.script_after.load(Ordering::Relaxed))
                .then(|| slots.script_reason.load(Ordering::Relaxed));
            return (mode >= ABORT).then_some(STOP).or(watched).or(script);
        }
        watched.or((mode >= slots.cancels_from.load(Ordering::Relaxed)).then_some(STOP))
    }

    /// The host is gone: no work is wanted any more.
    pub(crate) fn abort(&self) {
        self.slots().mode.fetch_max(ABORT, Ordering::SeqCst);
    }

    /// How far the run is on its way to the end.
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
        let page = ControlBlock::new(ABORT).unwrap();
        let file = page.file().try_clone_to_owned().unwrap();
        let view = ControlView::new(&file).unwrap();
        (page, view)
    }

    #[test]
    fn a_call_is_cancelled_once_and_counted() {
        let (page, view) = pair();
        page.slots().call.store(7, Ordering::Relaxed);
        page.begin(None);
        assert!(!view.is_cancelled());
        assert_eq!(page.asked(), (1, None));
        page.slots().cancelled.store(6 << 2 | 1, Ordering::SeqCst);
        assert!(!view.is_cancelled(), "that was the call before");
        page.slots().cancelled.store(7 << 2 | 2, Ordering::SeqCst);
        assert!(view.is_cancelled() && view.is_cancelled());
        assert_eq!(
            page.asked(),
            (
                4,
                Some(Cancellation {
                    after: 2,
                    reason: 2
                })
            )
        );
        page.slots().call.store(8, Ordering::Relaxed);
        page.begin(None);
        assert!(!view.is_cancelled());
    }

    #[test]
    fn a_recorded_call_is_told_after_as_many_questions() {
        let (page, view) = pair();
        page.slots().call.store(1, Ordering::Relaxed);
        page.begin(Some(Some(Cancellation {
            after: 2,
            reason: 1,
        })));
        assert_eq!([(); 3].map(|()| view.is_cancelled()), [false, false, true]);
        page.begin(Some(None));
        assert!(!view.is_cancelled());
        page.slots().mode.store(ABORT, Ordering::Relaxed);
        assert!(view.is_cancelled());
    }
}
