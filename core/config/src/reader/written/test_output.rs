//! `outputs` of a test.

use serde_json::json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::test::{one_or_several, tables};
use super::test_buffer::{self, WrittenBuffer};
use crate::reader::error::Findings;
use crate::reader::problem::Problem;
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Entry, Key, Row, Table, a_text};
use crate::reader::values::text;

/// An output as written.
#[derive(Default)]
pub(crate) struct WrittenOutput<'a, 't> {
    pub span: Span,
    pub from: Option<Spanned<String>>,
    pub expect: Option<Vec<WrittenExpectation<'a, 't>>>,
    pub count: Option<Spanned<u64>>,
    pub error: Option<Spanned<String>>,
}

/// An expectation as written.
#[derive(Default)]
pub(crate) struct WrittenExpectation<'a, 't> {
    pub span: Span,
    pub schema: Option<Spanned<String>>,
    pub equal: Option<&'a Spanned<DeValue<'t>>>,
    pub contains: Option<&'a Spanned<DeValue<'t>>>,
    pub jq: Option<Spanned<String>>,
    pub buffer: Option<WrittenBuffer<'a, 't>>,
}

/// The value of `expect` for no message.
const NOTHING: &str = "nothing";

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenOutput<'a, 't>> {
    Table {
        prefix: "tests.outputs.",
        keys: vec![
            Key {
                row: Row {
                    name: "from",
                    doc: "The stage, or its output as \"STAGE.OUTPUT\". Of several outputs, the only one for messages of any schema.",
                    default: DefaultValue::Required,
                    schema: a_text,
                },
                read: |output, entry, findings| {
                    output.from = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "expect",
                    doc: "The messages, one after the other: a list, a single one, or \"nothing\".",
                    default: DefaultValue::Words("any messages"),
                    schema: || {
                        let mut schema = one_or_several(&expectation_keys().schema());
                        if let Some(forms) = schema["anyOf"].as_array_mut() {
                            forms.push(json!({ "const": NOTHING }));
                        }
                        schema
                    },
                },
                read: expect,
            },
            Key {
                row: Row {
                    name: "count",
                    doc: "How many messages there are. With it, `expect` lists the first of them.",
                    default: DefaultValue::Words("as many as `expect` has"),
                    schema: || json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
                },
                read: |output, entry, findings| {
                    let number = match entry.value.get_ref() {
                        DeValue::Integer(number) => {
                            u32::from_str_radix(number.as_str(), number.radix()).ok()
                        }
                        _ => None,
                    };
                    match number {
                        Some(number) => {
                            output.count = Some(Spanned::new(entry.value.span(), number.into()));
                        }
                        None => {
                            let span = entry.value.span();
                            let found = findings.file().slice(&span).to_owned();
                            findings.report(&span, Problem::BadCount { found });
                        }
                    }
                },
            },
            Key {
                row: Row {
                    name: "error",
                    doc: "The stage fails, and its error contains this text. Without it, a failure of a stage fails the test.",
                    default: DefaultValue::Words("no stage fails"),
                    schema: a_text,
                },
                read: |output, entry, findings| {
                    output.error = text(entry.name, entry.value, findings);
                },
            },
        ],
    }
}

/// The keys of an expectation.
pub(crate) fn expectation_keys<'a, 't>() -> Table<'a, 't, WrittenExpectation<'a, 't>> {
    Table {
        prefix: "tests.outputs.expect.",
        keys: vec![
            Key {
                row: Row {
                    name: "equal",
                    doc: "The whole body. Numbers are equal by their value: 1 and 1.0.",
                    default: DefaultValue::Words("any"),
                    schema: || json!({}),
                },
                read: |expectation, entry, _| expectation.equal = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "contains",
                    doc: "A part of the body: objects may have other keys too. Lists have the same length.",
                    default: DefaultValue::Words("any"),
                    schema: || json!({}),
                },
                read: |expectation, entry, _| expectation.contains = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "jq",
                    doc: "A condition: an expression of jq on the body, whose first output is neither false nor null.",
                    default: DefaultValue::Words("any"),
                    schema: a_text,
                },
                read: |expectation, entry, findings| {
                    expectation.jq = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "schema",
                    doc: "The schema id of the message.",
                    default: DefaultValue::Words("any"),
                    schema: a_text,
                },
                read: |expectation, entry, findings| {
                    expectation.schema = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "buffer",
                    doc: "The message carries a buffer, and it is this one: a table. {} is any buffer.",
                    default: DefaultValue::Words("any, or none"),
                    schema: || test_buffer::expectation_keys().schema(),
                },
                read: |expectation, entry, findings| {
                    let keys = test_buffer::expectation_keys();
                    expectation.buffer = test_buffer::read(entry, &keys, findings);
                },
            },
        ],
    }
}

fn expect<'a, 't>(
    output: &mut WrittenOutput<'a, 't>,
    entry: &Entry<'a, 't>,
    findings: &mut Findings,
) {
    if let DeValue::String(text) = entry.value.get_ref() {
        match text == NOTHING {
            true => output.expect = Some(Vec::new()),
            false => {
                let hint = Some("it can be: \"nothing\", or a list of tables".to_owned());
                let problem = Problem::BadWord {
                    what: "expect",
                    found: text.clone().into_owned(),
                    hint,
                };
                findings.report(&entry.value.span(), problem);
            }
        }
        return;
    }
    let mut all = Vec::new();
    for (span, entries) in tables(entry, findings) {
        let mut expectation = WrittenExpectation {
            span,
            ..WrittenExpectation::default()
        };
        expectation_keys().read(&mut expectation, "`expect`", entries, findings);
        all.push(expectation);
    }
    if matches!(entry.value.get_ref(), DeValue::Array(items) if items.is_empty()) {
        let problem = Problem::EmptyExpect;
        findings.report(&entry.value.span(), problem);
    }
    output.expect = Some(all);
}

/// Reads an output.
pub(super) fn read<'a, 't>(
    span: Span,
    entries: &'a DeTable<'t>,
    findings: &mut Findings,
) -> WrittenOutput<'a, 't> {
    let mut output = WrittenOutput {
        span: span.clone(),
        ..WrittenOutput::default()
    };
    keys().read(&mut output, "`outputs`", entries, findings);
    let mut missing = |message: &str, hint: &str| {
        let (message, hint) = (message.to_owned(), Some(hint.to_owned()));
        findings.report(&span, Problem::Missing { message, hint });
    };
    if entries.get("from").is_none() {
        missing("this output names no stage", "add from = \"STAGE\"");
    }
    if ["expect", "count", "error"]
        .iter()
        .all(|key| entries.get(*key).is_none())
    {
        missing(
            "nothing is expected of this output",
            "add expect = [{ equal = { … } }], expect = \"nothing\", count or error",
        );
    }
    let expected = entries.get("expect").map(Spanned::get_ref);
    let is_nothing = matches!(expected, Some(DeValue::String(text)) if text == NOTHING);
    if let Some(count) = output.count.as_ref().filter(|it| *it.get_ref() > 0)
        && is_nothing
    {
        let problem = Problem::CountOfNothing {
            count: *count.get_ref(),
        };
        findings.report(&count.span(), problem);
    }
    output
}
