//! A robust futex: a word in shared memory that the kernel changes when the thread that holds it dies, and wakes whoever waits.
//!
//! That is the first thing that others see of a dying process. The kernel frees its memory next, which takes a third of
//! a second for some hundred megabytes on a busy machine, and closes its files last.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use rustix::event::Timespec;

/// The word, and what the kernel needs to find it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RobustFutex {
    /// Where the list of what the thread holds goes on.
    next: AtomicUsize,
    /// The thread that holds it, with the kernel's flags. Zero: nobody holds it.
    holder: AtomicU32,
}

/// What the kernel knows of a thread: `struct robust_list_head`.
#[repr(C)]
struct List {
    first: usize,
    offset: libc::c_long,
    pending: usize,
}

/// What is known of the thread that holds a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderState {
    /// It had not died by now.
    Alive,
    /// It died while it held it.
    Dead,
    /// There is none.
    Absent,
}

impl RobustFutex {
    /// Holds it on this thread while a function runs, where the kernel can do that. The C library's own robust mutexes must
    /// not be used on a thread that does so.
    pub(crate) fn hold(&self, function: impl FnOnce()) {
        let offset = offset_of!(Self, holder) - offset_of!(Self, next);
        let list = List {
            first: (&raw const self.next).expose_provenance(),
            offset: offset as libc::c_long,
            pending: 0,
        };
        // A list ends where it begins.
        let end = (&raw const list).expose_provenance();
        self.next.store(end, Ordering::SeqCst);
        let _held = register(&raw const list).then(|| {
            // SAFETY: this only asks for a number.
            let thread = unsafe { libc::syscall(libc::SYS_gettid) };
            self.holder.store(thread as u32, Ordering::SeqCst);
            Held(self)
        });
        function();
    }

    /// Waits until the thread that holds it dies or lets go, but no longer than this. Comes back at once when there is none.
    /// Neither allocates nor locks nor panics.
    pub(crate) fn wait(&self, limit: &Timespec) -> HolderState {
        let held = self.holder.load(Ordering::SeqCst);
        if state(held) != HolderState::Alive {
            return state(held);
        }
        // Without this mark nobody is woken.
        let marked = held | libc::FUTEX_WAITERS;
        let exchanged =
            self.holder
                .compare_exchange(held, marked, Ordering::SeqCst, Ordering::SeqCst);
        if exchanged.is_ok() {
            let limit = libc::timespec {
                tv_sec: limit.tv_sec,
                tv_nsec: limit.tv_nsec,
            };
            let (word, limit) = (self.holder.as_ptr(), &raw const limit);
            // SAFETY: the word lives as long as `self`. The kernel waits only while it has this value.
            unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, marked, limit) };
        }
        state(self.holder.load(Ordering::SeqCst))
    }

    fn wake(&self) {
        let word = self.holder.as_ptr();
        // SAFETY: the word lives as long as `self`.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX) };
    }
}

/// A futex that this thread holds. It is let go also when the function panics: the list is gone with the stack.
struct Held<'a>(&'a RobustFutex);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::SeqCst);
        self.0.wake();
        // The kernel never refuses.
        register(std::ptr::null());
    }
}

fn state(holder: u32) -> HolderState {
    if holder & libc::FUTEX_OWNER_DIED != 0 {
        HolderState::Dead
    } else if holder & libc::FUTEX_TID_MASK == 0 {
        HolderState::Absent
    } else {
        HolderState::Alive
    }
}

/// Registers with the kernel what this thread holds. Returns whether the kernel supports it.
fn register(list: *const List) -> bool {
    // SAFETY: the kernel uses the list when this thread ends, and forgives one that is not there. `hold` keeps it as long as
    // it is registered, also in a panic (`Held`).
    unsafe { libc::syscall(libc::SYS_set_robust_list, list, size_of::<List>()) == 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    use super::*;
    use crate::process::fork;
    use crate::record::{Pressed, Record};

    /// Long enough for the slowest machine; no test passes by waiting.
    const PATIENCE: Timespec = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 1,
    };

    #[test]
    fn whoever_waits_is_woken_when_the_holder_lets_go() {
        let record = Record::new(Pressed::default()).unwrap();
        let futex = record.player();
        assert_eq!(futex.wait(&PATIENCE), HolderState::Absent);
        let (held, is_held) = channel();
        let (over, is_over) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                futex.hold(move || {
                    held.send(()).unwrap();
                    // Ends when the sender is dropped.
                    let _ = is_over.recv();
                });
            });
            is_held.recv().unwrap();
            assert_eq!(futex.wait(&MOMENT), HolderState::Alive);
            drop(over);
            assert_eq!(futex.wait(&PATIENCE), HolderState::Absent);
        });
    }

    #[test]
    fn a_holder_that_panics_lets_go() {
        let record = Record::new(Pressed::default()).unwrap();
        let futex = record.player();
        let panicked = std::panic::AssertUnwindSafe(|| futex.hold(|| panic!("on purpose")));
        assert!(std::panic::catch_unwind(panicked).is_err());
        assert_eq!(futex.wait(&MOMENT), HolderState::Absent);
    }

    #[test]
    fn whoever_waits_is_woken_when_the_holder_is_killed() {
        let record = Record::new(Pressed::default()).unwrap();
        let futex = record.player();
        let holder = fork(|| {
            futex.hold(|| {
                loop {
                    // SAFETY: this only waits.
                    unsafe { libc::pause() };
                }
            });
            0
        });
        let holder = holder.unwrap();
        while futex.wait(&MOMENT) == HolderState::Absent {}
        kill_process(holder, Signal::KILL).unwrap();
        assert_eq!(futex.wait(&PATIENCE), HolderState::Dead);
        assert_eq!(futex.wait(&PATIENCE), HolderState::Dead);
        let all = WaitOptions::from_bits_retain(libc::__WALL as u32);
        waitpid(Some(holder), all).unwrap();
    }
}
