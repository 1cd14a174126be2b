//! `inputs` of a test.

use std::time::Duration;

use serde_json::json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::test_buffer::{self, WrittenBuffer};
use crate::reader::error::Findings;
use crate::reader::problem::Problem;
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Key, Row, Table, a_text, a_time};
use crate::reader::values::{text, time, wrong_type};

/// An input as written.
#[derive(Default)]
pub(crate) struct WrittenInput<'a, 't> {
    pub span: Span,
    pub to: Option<Spanned<String>>,
    pub schema: Option<Spanned<String>>,
    pub json: Option<&'a Spanned<DeValue<'t>>>,
    pub buffer: Option<WrittenBuffer<'a, 't>>,
    pub file: Option<Spanned<String>>,
    pub pictures: Vec<Spanned<String>>,
    pub recording: Option<Spanned<String>>,
    pub output: Option<Spanned<String>>,
    pub after: Option<Spanned<Duration>>,
    /// Exactly one source is given, perhaps not a readable one.
    pub has_source: bool,
}

/// The keys of which exactly one is given.
const SOURCES: [&str; 4] = ["json", "file", "pictures", "recording"];

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenInput<'a, 't>> {
    Table {
        prefix: "tests.inputs.",
        keys: vec![
            Key {
                row: Row {
                    name: "to",
                    doc: "The stage that takes it, or its input as \"STAGE.INPUT\".",
                    default: DefaultValue::Words("`start`"),
                    schema: a_text,
                },
                read: |input, entry, findings| {
                    input.to = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "schema",
                    doc: "The schema id of the message, or of all lines of `file`.",
                    default: DefaultValue::Words(
                        "that of the input, or of what feeds it; of `file`: each line names its own",
                    ),
                    schema: a_text,
                },
                read: |input, entry, findings| {
                    input.schema = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "json",
                    doc: "The body of one message.",
                    default: DefaultValue::Words("none"),
                    schema: || json!({}),
                },
                read: |input, entry, _| input.json = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "buffer",
                    doc: "The buffer of the message of `json`, a table.",
                    default: DefaultValue::Words("none"),
                    schema: || test_buffer::input_keys().schema(),
                },
                read: |input, entry, findings| {
                    let keys = test_buffer::input_keys();
                    input.buffer = test_buffer::read(entry, &keys, findings);
                },
            },
            Key {
                row: Row {
                    name: "file",
                    doc: "A file of JSON Lines: bodies with `schema`, and otherwise envelopes as `sink-jsonl` writes them.",
                    default: DefaultValue::Words("none"),
                    schema: a_text,
                },
                read: |input, entry, findings| {
                    input.file = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "pictures",
                    doc: "Picture files, folders or patterns such as \"frames/*.png\", as `capture-files` reads them.",
                    default: DefaultValue::Words("none"),
                    schema: || json!({ "anyOf": [a_text(), { "type": "array", "items": a_text(), "minItems": 1 }] }),
                },
                read: |input, entry, findings| {
                    let items = match entry.value.get_ref() {
                        DeValue::Array(items) if !items.is_empty() => items.iter().collect(),
                        DeValue::String(_) => vec![entry.value],
                        _ => {
                            let expected = "a string or a list of strings";
                            return wrong_type(entry.name, entry.value, expected, None, findings);
                        }
                    };
                    let items = items.into_iter();
                    input.pictures = items
                        .filter_map(|item| text(entry.name, item, findings))
                        .collect();
                },
            },
            Key {
                row: Row {
                    name: "recording",
                    doc: "A recording: what the stage in front of the input emitted in it.",
                    default: DefaultValue::Words("none"),
                    schema: a_text,
                },
                read: |input, entry, findings| {
                    input.recording = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "output",
                    doc: "The stage of the recording, or its output as \"STAGE.OUTPUT\".",
                    default: DefaultValue::Words("the one that feeds the input in the pipeline"),
                    schema: a_text,
                },
                read: |input, entry, findings| {
                    input.output = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "after",
                    doc: "The time since the start of the test at which the messages enter, by the clock of the stages. The times do not decrease.",
                    default: DefaultValue::Words("right after what is before them"),
                    schema: a_time,
                },
                read: |input, entry, findings| {
                    let after = time(entry.name, entry.value, findings);
                    input.after = after.map(|after| Spanned::new(entry.value.span(), after));
                },
            },
        ],
    }
}

/// Reads an input.
pub(super) fn read<'a, 't>(
    span: Span,
    entries: &'a DeTable<'t>,
    findings: &mut Findings,
) -> WrittenInput<'a, 't> {
    let mut input = WrittenInput {
        span: span.clone(),
        ..WrittenInput::default()
    };
    keys().read(&mut input, "`inputs`", entries, findings);
    let given: Vec<_> = SOURCES
        .into_iter()
        .filter(|key| entries.get(*key).is_some())
        .collect();
    if entries.get("buffer").is_some() && entries.get("json").is_none() {
        let message = "this buffer has no message".to_owned();
        let hint = Some("add its body: json = { … }".to_owned());
        findings.report(&span, Problem::Missing { message, hint });
        return input;
    }
    match given.as_slice() {
        [_] => input.has_source = true,
        [] => {
            let message = "this input has no messages".to_owned();
            let hint = Some("add json = { … }, file, pictures or recording".to_owned());
            findings.report(&span, Problem::Missing { message, hint });
        }
        [first, second, ..] => findings.report(&span, Problem::TwoSources { first, second }),
    }
    input
}
