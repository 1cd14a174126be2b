//! Holds readers of input to their bounds: a time, and an amount of memory.
//!
//! The test program that uses this counts what it allocates:
//! ```ignore
//! #[global_allocator]
//! static COUNTING: bounds::Counting = bounds::Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Nothing that ends takes this long, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Beyond this many bytes a thread gets no more: the test must fail, not the machine.
const MOST: isize = 3 << 30;

thread_local! {
    /// Bytes that this thread has allocated and not freed. What goes to other threads makes it differ from what
    /// lives; readers of input start none.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The most that it was since it was last looked at.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with a count for each thread.
pub struct Counting;

fn count(bytes: isize) -> bool {
    LIVE.with(|live| {
        let now = live.get() + bytes;
        if now > MOST {
            return false;
        }
        live.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
        true
    })
}

/// Sizes of memory are at most `isize::MAX`.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX / 2)
}

// SAFETY: everything is handed on to the system's allocator, or refused with null as the trait allows.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !count(signed(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !count(signed(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !count(signed(size) - signed(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Does the work that an input asks for. It must end, and take no more memory than so many bytes.
///
/// # Panics
/// When it took more. When it does not end, the program is aborted with a message that names the input.
pub fn within<T>(bytes: usize, input: &[u8], work: impl FnOnce() -> T) -> T {
    let shown = || String::from_utf8_lossy(&input[..input.len().min(2_000)]).into_owned();
    std::thread::scope(|scope| {
        let (_over, waits) = mpsc::channel::<()>();
        scope.spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // What is printed in the usual way is held back until the test ends.
                let text = format!("no end in {PATIENCE:?} at {:?}\n", shown());
                let _ = std::io::stderr().write_all(text.as_bytes());
                std::process::abort();
            }
        });
        let before = LIVE.with(Cell::get);
        PEAK.with(|peak| peak.set(before));
        let done = work();
        let peak = PEAK.with(Cell::get) - before;
        assert!(
            peak <= signed(bytes),
            "{peak} bytes of memory for an input of {}: {:?}",
            input.len(),
            shown()
        );
        done
    })
}

/// Mebibytes.
#[allow(dead_code, reason = "not every test counts in them")]
pub const MIB: usize = 1 << 20;
