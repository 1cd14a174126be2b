//! Messages of another machine that this one has not finished.

use std::sync::Arc;

use flowpipe_link::link::Link;
use flowpipe_link::session::MessageId;

/// A message of the other machine that this one has. When the last of its descendants here is dropped, which may be in any
/// thread, it is finished.
pub(crate) struct UnfinishedMessage {
    pub link: Arc<Link>,
    pub id: MessageId,
}

impl Drop for UnfinishedMessage {
    fn drop(&mut self) {
        self.link.done(self.id);
    }
}
