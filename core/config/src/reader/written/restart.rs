//! `restart`.

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use crate::pipeline::Restart;
use crate::reader::error::Findings;
use crate::reader::problem::MAX_RESTARTS;
use crate::reader::table::{DefaultValue, Key, Row, Table, a_time, set};
use crate::reader::values::{table, time, times};

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, Restart> {
    let default = Restart::default();
    Table {
        prefix: "restart.",
        keys: vec![
            Key {
                row: Row {
                    name: "max",
                    doc: "The most restarts in a row without a processed message in between; then on_error decides.",
                    default: DefaultValue::Value(json!(default.max)),
                    schema: || json!({ "type": "integer", "minimum": 1, "maximum": MAX_RESTARTS }),
                },
                read: |restart, entry, findings| {
                    set(&mut restart.max, times(entry.value, findings));
                },
            },
            Key {
                row: Row {
                    name: "backoff",
                    doc: "The delay before the first restart; it doubles with each further restart in a row.",
                    default: DefaultValue::time(default.backoff),
                    schema: a_time,
                },
                read: |restart, entry, findings| {
                    set(
                        &mut restart.backoff,
                        time(entry.name, entry.value, findings),
                    );
                },
            },
        ],
    }
}

/// Reads a restart policy.
pub(super) fn read(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Restart> {
    let keys = keys();
    let entries = table("restart", value, &keys.example("restart"), findings)?;
    let mut restart = Restart::default();
    keys.read(&mut restart, "`restart`", entries, findings);
    Some(restart)
}
