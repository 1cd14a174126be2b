//! Messages of another machine that this one has not finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flowpipe_link::link::Link;
use flowpipe_link::session::MessageId;

/// A message of the other machine that this one has. When the last of its descendants here is dropped, which may be in any
/// thread, it is finished.
pub(crate) struct UnfinishedMessage {
    link: Arc<Link>,
    id: MessageId,
    count: Arc<AtomicU64>,
}

impl UnfinishedMessage {
    /// `count`: how many messages of its edge are not finished.
    pub(crate) fn new(link: Arc<Link>, id: MessageId, count: Arc<AtomicU64>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self { link, id, count }
    }
}

impl Drop for UnfinishedMessage {
    fn drop(&mut self) {
        self.link.done(self.id);
        // Afterwards: who finds that none is left can rely on it that the link reports all.
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}
