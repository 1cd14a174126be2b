//! `[record]`.

use serde_json::json;
use toml::Spanned;

use crate::pipeline::Record;
use crate::reader::error::Findings;
use crate::reader::problem::Problem;
use crate::reader::table::{DefaultValue, Entry, Key, Row, Table, a_text, set};
use crate::reader::values::{table, text, truth};

/// The table as written.
#[derive(Default)]
pub(crate) struct WrittenRecord {
    file: Option<Spanned<String>>,
    lossless: bool,
}

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenRecord> {
    let default = WrittenRecord::default();
    Table {
        prefix: "record.",
        keys: vec![
            Key {
                row: Row {
                    name: "file",
                    doc: "The recording (MCAP). {name} is replaced by the pipeline's name, {time} by the time of the start.",
                    default: DefaultValue::Required,
                    schema: a_text,
                },
                read: |record, entry, findings| {
                    record.file = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "lossless",
                    doc: "Have the stages wait when the recorder can't keep up, so that nothing is dropped.",
                    default: DefaultValue::Value(json!(default.lossless)),
                    schema: || json!({ "type": "boolean" }),
                },
                read: |record, entry, findings| {
                    set(
                        &mut record.lossless,
                        truth(entry.name, entry.value, findings),
                    );
                },
            },
        ],
    }
}

/// Reads where and how to record.
pub(super) fn read(entry: &Entry<'_, '_>, findings: &mut Findings) -> Option<Spanned<Record>> {
    let example = "[record] with file = \"FILE.mcap\"";
    let entries = table(entry.name, entry.value, example, findings)?;
    let mut record = WrittenRecord::default();
    keys().read(&mut record, "[record]", entries, findings);
    let file = record.file.map(Spanned::into_inner).unwrap_or_default();
    if file.is_empty() {
        findings.report(&entry.span, Problem::NoRecordFile);
        return None;
    }
    let lossless = record.lossless;
    Some(Spanned::new(entry.span.clone(), Record { file, lossless }))
}
