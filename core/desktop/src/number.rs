//! Numbers that are given once.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that nothing else of this process has. It is not 0.
pub(crate) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
