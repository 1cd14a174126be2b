//! The schema ids that only a test names.

use toml::Spanned;

use crate::reader::error::Findings;
use crate::reader::problem::Problem;

/// Reports a text that is no schema id. Where a port has one, only that one is right, and it is compared elsewhere.
pub(super) fn check(schema: &Spanned<String>, of_port: Option<&str>, findings: &mut Findings) {
    let text = schema.get_ref();
    if of_port.is_none_or(|it| it == "*") && !is_schema_id(text) {
        let found = text.clone();
        findings.report(&schema.span(), Problem::BadSchemaId { found });
    }
}

/// Whether it has the form that the configs of stages require.
fn is_schema_id(text: &str) -> bool {
    let is_of_name = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    text.split_once('/').is_some_and(|(name, version)| {
        let is_name = !name.is_empty() && name.chars().all(is_of_name);
        is_name && !version.is_empty() && version.bytes().all(|it| it.is_ascii_digit())
    })
}
