//! `[[tests]]`.

use std::time::Duration;

use serde_json::{Value, json};
use strum::VariantArray as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::test_input::{self, WrittenInput};
use super::test_output::{self, WrittenOutput};
use crate::reader::error::Findings;
use crate::reader::pipeline_test::PipelineTest;
use crate::reader::problem::{MAX_TESTS, Problem};
use crate::reader::source::Span;
use crate::reader::syntax::in_file_order;
use crate::reader::table::{DefaultValue, Entry, Key, Row, Table, a_keyword, a_text, a_time};
use crate::reader::values::{table, text, time, word, wrong_type};

/// An effect that a test can allow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Allowed {
    /// Stages may start the commands that their configs name.
    RunsCommands,
}

/// A test as written.
#[derive(Default)]
pub(crate) struct WrittenTest<'a, 't> {
    /// The span of the table, or of its header.
    pub span: Span,
    pub name: Option<Spanned<String>>,
    pub start: Option<Spanned<String>>,
    pub inputs: Vec<WrittenInput<'a, 't>>,
    pub outputs: Vec<WrittenOutput<'a, 't>>,
    /// By stage.
    pub config: Vec<(Spanned<String>, &'a Spanned<DeValue<'t>>)>,
    pub allow: Vec<Allowed>,
    pub without: Vec<Spanned<String>>,
    pub timeout: Option<Duration>,
}

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenTest<'a, 't>> {
    Table {
        prefix: "tests.",
        keys: vec![
            Key {
                row: Row {
                    name: "name",
                    doc: "The test's name.",
                    default: DefaultValue::Required,
                    schema: a_text,
                },
                read: |test, entry, findings| {
                    test.name = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "start",
                    doc: "The stage at which the messages enter, or its input as \"STAGE.INPUT\".",
                    default: DefaultValue::Words("each input names its own"),
                    schema: a_text,
                },
                read: |test, entry, findings| {
                    test.start = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "inputs",
                    doc: "The messages that enter, in their order.",
                    default: DefaultValue::Required,
                    schema: || one_or_several(&test_input::keys().schema()),
                },
                read: |test, entry, findings| {
                    for (span, entries) in tables(entry, findings) {
                        test.inputs.push(test_input::read(span, entries, findings));
                    }
                },
            },
            Key {
                row: Row {
                    name: "outputs",
                    doc: "What is expected of the outputs of stages.",
                    default: DefaultValue::Required,
                    schema: || one_or_several(&test_output::keys().schema()),
                },
                read: |test, entry, findings| {
                    for (span, entries) in tables(entry, findings) {
                        test.outputs
                            .push(test_output::read(span, entries, findings));
                    }
                },
            },
            Key {
                row: Row {
                    name: "config",
                    doc: "Config keys that differ in this test, by stage: { STAGE = { KEY = VALUE } }.",
                    default: DefaultValue::Words("those of the stages"),
                    schema: || json!({ "type": "object", "additionalProperties": { "type": "object" } }),
                },
                read: |test, entry, findings| {
                    let example = "config = { STAGE = { KEY = VALUE } }";
                    let Some(all) = table(entry.name, entry.value, example, findings) else {
                        return;
                    };
                    let all = in_file_order(all).into_iter();
                    test.config = all
                        .map(|(name, span, value)| (Spanned::new(span, name.to_owned()), value))
                        .collect();
                },
            },
            Key {
                row: Row {
                    name: "allow",
                    doc: "Effects that the stages of this test may have: a list of \"runs-commands\".",
                    default: DefaultValue::Words("none but reading files"),
                    schema: || json!({ "type": "array", "items": a_keyword::<Allowed>() }),
                },
                read: |test, entry, findings| {
                    let DeValue::Array(items) = entry.value.get_ref() else {
                        return wrong_type(entry.name, entry.value, "a list", None, findings);
                    };
                    let items = items.iter().take(Allowed::VARIANTS.len() * 16);
                    test.allow = items
                        .filter_map(|item| word(entry.name, item, findings))
                        .collect();
                },
            },
            Key {
                row: Row {
                    name: "without",
                    doc: "Stages that do not run in this test, such as one that drives the mouse: a list.",
                    default: DefaultValue::Words("all that are needed run"),
                    schema: || json!({ "type": "array", "items": a_text() }),
                },
                read: |test, entry, findings| {
                    let DeValue::Array(items) = entry.value.get_ref() else {
                        return wrong_type(entry.name, entry.value, "a list", None, findings);
                    };
                    let items = items.iter();
                    test.without = items
                        .filter_map(|item| text(entry.name, item, findings))
                        .collect();
                },
            },
            Key {
                row: Row {
                    name: "timeout",
                    doc: "How long the test may take, at most 10 minutes.",
                    default: DefaultValue::time(PipelineTest::DEFAULT_TIMEOUT),
                    schema: a_time,
                },
                read: |test, entry, findings| {
                    test.timeout = time(entry.name, entry.value, findings);
                    if test.timeout > Some(PipelineTest::LONGEST_TIMEOUT) {
                        findings.report(&entry.value.span(), Problem::LongTest);
                    }
                },
            },
        ],
    }
}

/// The schema of `tests`.
pub(super) fn schema() -> Value {
    json!({ "type": "array", "maxItems": MAX_TESTS, "items": keys().schema() })
}

/// Reads all tests.
pub(super) fn read<'a, 't>(
    entry: &Entry<'a, 't>,
    findings: &mut Findings,
) -> Vec<WrittenTest<'a, 't>> {
    let found = tables(entry, findings);
    if let Some((span, _)) = found.get(MAX_TESTS) {
        let found = found.len();
        findings.report(span, Problem::TooManyTests { found });
        return Vec::new();
    }
    let read = |(span, entries): (Span, &'a DeTable<'t>)| {
        let mut test = WrittenTest {
            span,
            ..WrittenTest::default()
        };
        keys().read(&mut test, "[[tests]]", entries, findings);
        for (key, example) in [
            ("name", "name = \"what it shows\""),
            ("inputs", "inputs = [{ schema = \"SCHEMA\", json = { … } }]"),
            ("outputs", "[[tests.outputs]] with from = \"STAGE\""),
        ] {
            let given = entries.get(key).map(Spanned::get_ref);
            let is_empty =
                |it: &DeValue<'_>| matches!(it, DeValue::Array(items) if items.is_empty());
            if given.is_none_or(is_empty) {
                let message = format!("this test has no `{key}`");
                let hint = Some(format!("add {example}"));
                findings.report(&test.span, Problem::Missing { message, hint });
            }
        }
        test
    };
    found.into_iter().map(read).collect()
}

/// The tables of a list, or a single one, with their spans.
pub(super) fn tables<'a, 't>(
    entry: &Entry<'a, 't>,
    findings: &mut Findings,
) -> Vec<(Span, &'a DeTable<'t>)> {
    let items = match entry.value.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        DeValue::Table(_) => vec![entry.value],
        _ => {
            wrong_type(
                entry.name,
                entry.value,
                "a table or a list of tables",
                None,
                findings,
            );
            return Vec::new();
        }
    };
    let items = items.into_iter();
    items
        .filter_map(|item| {
            let DeValue::Table(entries) = item.get_ref() else {
                wrong_type(entry.name, item, "a table", None, findings);
                return None;
            };
            Some((item.span(), entries))
        })
        .collect()
}

/// The schema of a table, or of a list of them.
pub(super) fn one_or_several(table: &Value) -> Value {
    json!({ "anyOf": [table, { "type": "array", "items": table, "minItems": 1 }] })
}
