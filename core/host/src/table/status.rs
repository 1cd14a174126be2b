//! Texts for a plugin's failures.

use flowpipe_abi as abi;

use crate::table::Host;

/// The start of the text for a panic.
pub const PANICKED: &str = "it panicked";

/// The text for a negative status, with the plugin's error text.
pub fn reason(status: abi::Status, host: &Host) -> String {
    let text = host
        .take_error()
        .map(|(_, text)| text)
        .filter(|text| !text.trim().is_empty());
    let kind = match status {
        abi::ERROR => None,
        abi::CANCELLED => Some("it returned CANCELLED, but nothing was cancelled".to_owned()),
        abi::BAD_CONFIG => Some("the config can't be used".to_owned()),
        abi::BAD_MESSAGE => Some("it can't read the message".to_owned()),
        abi::PANIC => Some(PANICKED.to_owned()),
        other => Some(format!(
            "it returned {other}, which is not a status for this call"
        )),
    };
    match (kind, text) {
        (None, None) => "it failed and gave no reason".into(),
        (Some(kind), None) => kind,
        (None, Some(text)) => text,
        (Some(kind), Some(text)) => format!("{kind}: {text}"),
    }
}
