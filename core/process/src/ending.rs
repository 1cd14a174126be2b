//! How the end of a command that owes an answer is reported, by the plugins that run commands and for who checks them.

/// What the report of such an end says.
pub const INSTEAD_OF_AN_ANSWER: &str = "instead of answering";

/// Whether the failure of a stage is that its command has ended.
#[must_use]
pub fn is_reported_by(failure: &str) -> bool {
    failure.contains(INSTEAD_OF_AN_ANSWER)
}
