//! Messages as the types that their checks have accepted.

use std::sync::Arc;

use flowpipe_host::message::Message;
use serde::de::DeserializeOwned;

/// The content of a message that has passed its check. `None`: it has another type.
pub fn read<T>(message: &Message) -> Option<Arc<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    message.read().ok()
}

/// `text: reason`, if there is a reason.
pub fn with_reason(text: &str, reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(|| text.to_owned(), |reason| format!("{text}: {reason}"))
}
