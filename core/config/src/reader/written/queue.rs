//! `queue`.

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::DeValue;

use crate::pipeline::{Queue, WhenFull};
use crate::reader::error::Findings;
use crate::reader::problem::MAX_CAPACITY;
use crate::reader::table::{DefaultValue, Key, Row, Table, a_keyword, set};
use crate::reader::values::{capacity, table, word};

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, Queue> {
    let default = Queue::default();
    Table {
        prefix: "queue.",
        keys: vec![
            Key {
                row: Row {
                    name: "capacity",
                    doc: "The most messages that it holds.",
                    default: DefaultValue::Value(json!(default.capacity)),
                    schema: || json!({ "type": "integer", "minimum": 1, "maximum": MAX_CAPACITY }),
                },
                read: |queue, entry, findings| {
                    set(&mut queue.capacity, capacity(entry.value, findings));
                },
            },
            Key {
                row: Row {
                    name: "when_full",
                    doc: "What happens to a message when the queue is full.",
                    default: DefaultValue::keyword(default.when_full),
                    schema: a_keyword::<WhenFull>,
                },
                read: |queue, entry, findings| {
                    set(
                        &mut queue.when_full,
                        word(entry.name, entry.value, findings),
                    );
                },
            },
        ],
    }
}

/// The schema of a key whose value is this table.
pub(super) fn schema() -> Value {
    json!({ "allOf": [{ "$ref": "#/definitions/queue" }] })
}

/// Reads the rules of a queue.
pub(super) fn read(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Queue> {
    let keys = keys();
    let entries = table("queue", value, &keys.example("queue"), findings)?;
    let mut queue = Queue::default();
    keys.read(&mut queue, "`queue`", entries, findings);
    Some(queue)
}
