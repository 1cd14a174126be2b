//! Messages that a stage passes on.

use std::ffi::CString;

use flowpipe_plugin::{Context, Message, Result};

/// Sends a message as it came, by the first output.
///
/// # Errors
/// When no stage receives it any more, and when the host refuses it.
pub fn pass(message: &Message<'_>, context: &mut Context<'_>) -> Result<()> {
    let schema = CString::new(message.schema())?;
    let frame = message.frame();
    let captured_ns = message.captured_ns();
    context.emit_document(0, &schema, message.json(), frame.as_ref(), captured_ns)
}
