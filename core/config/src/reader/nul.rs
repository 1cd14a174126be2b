//! NUL characters: TOML allows them, but no file, command, variable or window has one in its name.

use toml::de::{DeTable, DeValue};

use super::error::Findings;
use super::problem::Problem;

/// Reports each string and key that holds one.
pub(super) fn report(table: &DeTable<'_>, findings: &mut Findings) {
    for (key, value) in table {
        if key.get_ref().contains('\0') {
            findings.report(&key.span(), Problem::Nul { what: "a key" });
        }
        report_in(value, findings);
    }
}

fn report_in(value: &toml::Spanned<DeValue<'_>>, findings: &mut Findings) {
    match value.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            findings.report(&value.span(), Problem::Nul { what: "a string" });
        }
        DeValue::Array(items) => items.iter().for_each(|item| report_in(item, findings)),
        DeValue::Table(table) => report(table, findings),
        _ => {}
    }
}
