//! The primitives of [`crate::sync`] in the models, with faults for single tests. The protocols stay the same code, and
//! their models must fail: a model that passes without faults has checked something.

use std::cell::Cell;
use std::process::Command;
use std::sync::LockResult;

use loom::sync::atomic::Ordering::{self, Relaxed};
use loom::sync::{MutexGuard, atomic};

/// A fault of the primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// All accesses are relaxed.
    Unordered,
    /// Read-modify-write operations take two steps.
    Torn,
    /// Storing `true` has no effect.
    LostStore,
    /// A condition variable notifies nobody.
    LostNotify,
}

thread_local! {
    /// loom runs all threads of a model on the test's own thread.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// From here on this process's only test has faulty primitives.
pub(crate) fn inject(fault: Fault) {
    FAULT.set(Some(fault));
}

/// A test that a model with a fault fails, with this text.
macro_rules! finds {
    ($name:ident, $words:literal, $run:expr) => {
        #[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            crate::model::faulty::fails(name, $words, || $run);
        }
    };
}
pub(crate) use finds;

/// Runs a test once more in another process, where it has to fail: after a failed model loom often can't unwind.
pub(crate) fn fails(name: &str, words: &str, run: impl FnOnce()) {
    const RERUN: &str = "FLOWPIPE_FAULT";
    if std::env::var_os(RERUN).is_some() {
        return run();
    }
    let (_, name) = name.split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(RERUN, "")
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_found = !output.status.success() && stderr.contains(words);
    assert!(is_found, "{}: {stderr}", output.status);
}

fn has(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

fn order(order: Ordering) -> Ordering {
    match has(Fault::Unordered) {
        true => Relaxed,
        false => order,
    }
}

#[derive(Debug, Default)]
pub(crate) struct AtomicBool(atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn load(&self, by: Ordering) -> bool {
        self.0.load(order(by))
    }

    pub(crate) fn store(&self, value: bool, by: Ordering) {
        self.0.store(value && !has(Fault::LostStore), order(by));
    }
}

/// A number of the models.
macro_rules! atomic {
    ($name:ident, $number:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(atomic::$name);

        impl $name {
            pub(crate) fn new(value: $number) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn load(&self, by: Ordering) -> $number {
                self.0.load(order(by))
            }

            pub(crate) fn store(&self, value: $number, by: Ordering) {
                self.0.store(value, order(by));
            }

            pub(crate) fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                if !has(Fault::Torn) {
                    return self
                        .0
                        .compare_exchange(current, new, order(success), order(failure));
                }
                match self.0.load(failure) {
                    found if found == current => {
                        self.0.store(new, success);
                        Ok(found)
                    }
                    found => Err(found),
                }
            }
        }
    };
}

atomic!(AtomicU8, u8);
atomic!(AtomicU64, u64);

impl AtomicU64 {
    pub(crate) fn fetch_add(&self, value: u64, by: Ordering) -> u64 {
        if !has(Fault::Torn) {
            return self.0.fetch_add(value, order(by));
        }
        let before = self.0.load(Relaxed);
        self.0.store(before.wrapping_add(value), Relaxed);
        before
    }

    pub(crate) fn fetch_sub(&self, value: u64, by: Ordering) -> u64 {
        self.fetch_add(value.wrapping_neg(), by)
    }
}

/// loom knows no relaxed fence: with [`Fault::Unordered`] there is none.
pub(crate) fn fence(by: Ordering) {
    if !has(Fault::Unordered) {
        atomic::fence(by);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    pub(crate) fn notify_all(&self) {
        if !has(Fault::LostNotify) {
            self.0.notify_all();
        }
    }
}
