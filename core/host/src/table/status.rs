//! Why a plugin failed, in words.

use flowpipe_abi as abi;

use crate::table::Host;

/// How the words begin in which a panic is told.
pub const PANICKED: &str = "it panicked";

/// A negative status in words, with what the plugin said.
pub fn reason(status: abi::Status, host: &Host) -> String {
    let said = host
        .take_error()
        .map(|(_, text)| text)
        .filter(|text| !text.trim().is_empty());
    let kind = match status {
        abi::ERROR => None,
        abi::CANCELLED => Some("it gave up though nothing was cancelled".to_owned()),
        abi::BAD_CONFIG => Some("the config can't be used".to_owned()),
        abi::BAD_MESSAGE => Some("it can't read the message".to_owned()),
        abi::PANIC => Some(PANICKED.to_owned()),
        other => Some(format!(
            "it returned {other}, which is not a status for this call"
        )),
    };
    match (kind, said) {
        (None, None) => "it failed and did not say why".into(),
        (Some(kind), None) => kind,
        (None, Some(said)) => said,
        (Some(kind), Some(said)) => format!("{kind}: {said}"),
    }
}
