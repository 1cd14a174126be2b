//! Keeps the reference counts of the frames that were released last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use flowpipe_sync::lock;

/// The most counts that are kept.
const MOST: usize = 64;

/// The reference counts of the frames that were released last.
///
/// A plugin that releases a frame once too often then changes such a count, and no memory that the allocator uses.
#[derive(Debug, Default)]
pub struct ReleasedCounts(Mutex<VecDeque<Weak<dyn Send + Sync>>>);

impl ReleasedCounts {
    /// No counts.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Keeps the count of a frame whose last reference is about to be dropped: [`Arc::strong_count`] is 1.
    ///
    /// Of two threads that drop the last two references at the same time, neither may see that. Such a count is freed
    /// with the frame.
    pub fn keep<T: Send + Sync + 'static>(&self, last: &Arc<T>) {
        let count: Weak<T> = Arc::downgrade(last);
        let mut counts = lock(&self.0);
        let oldest = if counts.len() == MOST {
            counts.pop_front()
        } else {
            None
        };
        counts.push_back(count);
        drop(counts);
        drop(oldest);
    }
}
