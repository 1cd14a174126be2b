//! `buffer` of an input of a test, and of a message that it expects.

use flowpipe_abi::{BUFFER_MAX_RANK, Element};
use serde_json::{Value, json};
use toml::Spanned;
use toml::de::DeValue;

use crate::reader::error::Findings;
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Entry, Key, Row, Table, a_text};
use crate::reader::values::{table, text};

/// A buffer as written.
pub(crate) struct WrittenBuffer<'a, 't> {
    pub span: Span,
    pub media_type: Option<Spanned<String>>,
    pub element: Option<Spanned<String>>,
    pub shape: Option<&'a Spanned<DeValue<'t>>>,
    pub values: Option<&'a Spanned<DeValue<'t>>>,
    pub file: Option<Spanned<String>>,
}

/// What the two tables say of their keys.
struct BufferRows {
    prefix: &'static str,
    media_type: &'static str,
    required: DefaultValue,
    element: DefaultValue,
    shape: &'static str,
    shape_default: &'static str,
    shape_schema: fn() -> Value,
    elements_default: &'static str,
}

/// The keys of a buffer that enters.
pub(crate) fn input_keys<'a, 't>() -> Table<'a, 't, WrittenBuffer<'a, 't>> {
    keys(BufferRows {
        prefix: "tests.inputs.buffer.",
        media_type: "Its media type, such as \"audio/pcm\".",
        required: DefaultValue::Required,
        element: DefaultValue::Value(json!(Element::U8.as_str())),
        shape: "The number of elements of each dimension.",
        shape_default: "one dimension with all elements",
        shape_schema: || shape_schema(&json!({ "type": "integer", "minimum": 1 })),
        elements_default: "either `values` or `file` must be given",
    })
}

/// The keys of a buffer that is expected.
pub(crate) fn expectation_keys<'a, 't>() -> Table<'a, 't, WrittenBuffer<'a, 't>> {
    keys(BufferRows {
        prefix: "tests.outputs.expect.buffer.",
        media_type: "Its media type, such as \"audio/pcm\" or \"audio/*\".",
        required: DefaultValue::Words("any"),
        element: DefaultValue::Words("any"),
        shape: "The number of elements of each dimension, or \"any\".",
        shape_default: "any",
        shape_schema: || {
            let number = json!({ "type": "integer", "minimum": 1 });
            shape_schema(&json!({ "anyOf": [number, { "const": "any" }] }))
        },
        elements_default: "any",
    })
}

fn keys<'a, 't>(rows: BufferRows) -> Table<'a, 't, WrittenBuffer<'a, 't>> {
    let elements_default = || DefaultValue::Words(rows.elements_default);
    Table {
        prefix: rows.prefix,
        keys: vec![
            Key {
                row: Row {
                    name: "media_type",
                    doc: rows.media_type,
                    default: rows.required,
                    schema: a_text,
                },
                read: |buffer, entry, findings| {
                    buffer.media_type = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "element",
                    doc: "The type of its elements.",
                    default: rows.element,
                    schema: || json!({ "enum": Element::ALL.map(Element::as_str) }),
                },
                read: |buffer, entry, findings| {
                    buffer.element = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "shape",
                    doc: rows.shape,
                    default: DefaultValue::Words(rows.shape_default),
                    schema: rows.shape_schema,
                },
                read: |buffer, entry, _| buffer.shape = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "values",
                    doc: "Its elements as a list of numbers, of all dimensions in one: the last one varies fastest.",
                    default: elements_default(),
                    schema: || json!({ "type": "array", "items": { "type": "number" } }),
                },
                read: |buffer, entry, _| buffer.values = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "file",
                    doc: "A file with its elements and nothing else, little-endian.",
                    default: elements_default(),
                    schema: a_text,
                },
                read: |buffer, entry, findings| {
                    buffer.file = text(entry.name, entry.value, findings);
                },
            },
        ],
    }
}

fn shape_schema(dimension: &Value) -> Value {
    json!({ "type": "array", "maxItems": BUFFER_MAX_RANK, "items": dimension })
}

/// Reads a buffer.
pub(super) fn read<'a, 't>(
    entry: &Entry<'a, 't>,
    keys: &Table<'a, 't, WrittenBuffer<'a, 't>>,
    findings: &mut Findings,
) -> Option<WrittenBuffer<'a, 't>> {
    let example = "buffer = { media_type = \"audio/pcm\", element = \"f32\", values = [0.0, 0.5] }";
    let entries = table(entry.name, entry.value, example, findings)?;
    let mut buffer = WrittenBuffer {
        span: entry.value.span(),
        media_type: None,
        element: None,
        shape: None,
        values: None,
        file: None,
    };
    keys.read(&mut buffer, "`buffer`", entries, findings);
    Some(buffer)
}
