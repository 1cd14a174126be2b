//! `from`: where the inputs of a stage come from.

use serde_json::json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::queue;
use crate::pipeline::Queue;
use crate::reader::error::Findings;
use crate::reader::problem::Problem;
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Entry, Key, Row, Table};
use crate::reader::values::{text, wrong_type};

/// The `from` of a stage.
pub(crate) struct WrittenFrom {
    pub key: Span,
    pub sources: Vec<WrittenSource>,
    /// A part was unreadable, so the stage may have more inputs.
    pub incomplete: bool,
}

/// One entry of a `from`.
pub(crate) struct WrittenSource {
    pub span: Span,
    pub stage: Spanned<String>,
    pub port: Option<Spanned<String>>,
    pub into: Option<Spanned<String>>,
    pub queue: Option<Queue>,
}

/// An entry of a `from` that is a table.
#[derive(Default)]
pub(crate) struct WrittenSourceTable {
    stage: Option<Spanned<String>>,
    port: Option<Spanned<String>>,
    into: Option<Spanned<String>>,
    queue: Option<Queue>,
}

/// The keys of a table of `from`.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenSourceTable> {
    Table {
        prefix: "from.",
        keys: vec![
            Key {
                row: Row {
                    name: "stage",
                    doc: "The stage that sends.",
                    default: DefaultValue::Required,
                    schema: || json!({ "type": "string" }),
                },
                read: |source, entry, findings| {
                    source.stage = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "port",
                    doc: "The output, if several match.",
                    default: DefaultValue::Words("the one that matches"),
                    schema: || json!({ "type": "string" }),
                },
                read: |source, entry, findings| {
                    source.port = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "into",
                    doc: "The input, if several match. Those that have to be connected come before optional ones.",
                    default: DefaultValue::Words("the one that matches"),
                    schema: || json!({ "type": "string" }),
                },
                read: |source, entry, findings| {
                    source.into = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "queue",
                    doc: "The rules of this queue alone.",
                    default: DefaultValue::Words("those of the stage"),
                    schema: queue::schema,
                },
                read: |source, entry, findings| {
                    source.queue = queue::read(entry.value, findings);
                },
            },
        ],
    }
}

/// Reads the sources of a stage.
pub(super) fn read(entry: &Entry<'_, '_>, findings: &mut Findings) -> WrittenFrom {
    let value = entry.value;
    let items = match value.get_ref() {
        DeValue::Array(list) => {
            if list.is_empty() {
                findings.report(&value.span(), Problem::EmptyList { what: "from" });
            }
            list.iter().collect()
        }
        _ => vec![value],
    };
    let sources: Vec<_> = items
        .iter()
        .filter_map(|item| source(item, findings))
        .collect();
    let incomplete = sources.is_empty() || sources.len() < items.len();
    WrittenFrom {
        key: entry.span.clone(),
        sources,
        incomplete,
    }
}

fn source(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<WrittenSource> {
    match value.get_ref() {
        DeValue::String(name) => {
            let spanned = |text: &str| Spanned::new(value.span(), text.to_owned());
            let (stage, port) = match name.split_once('.') {
                Some((stage, port)) => (stage, Some(port)),
                None => (name.as_ref(), None),
            };
            let (stage, port) = (spanned(stage), port.map(spanned));
            Some(WrittenSource {
                span: value.span(),
                stage,
                port,
                into: None,
                queue: None,
            })
        }
        DeValue::Table(fields) => source_table(value.span(), fields, findings),
        _ => {
            wrong_type(
                "from",
                value,
                "\"STAGE\", \"STAGE.PORT\" or a table",
                None,
                findings,
            );
            None
        }
    }
}

fn source_table(
    span: Span,
    entries: &DeTable<'_>,
    findings: &mut Findings,
) -> Option<WrittenSource> {
    let mut source = WrittenSourceTable::default();
    keys().read(&mut source, "`from`", entries, findings);
    if entries.get("stage").is_none() {
        let message = "this `from` names no stage".to_owned();
        let hint = Some("add stage = \"NAME\"".to_owned());
        findings.report(&span, Problem::Missing { message, hint });
    }
    Some(WrittenSource {
        span,
        stage: source.stage?,
        port: source.port,
        into: source.into,
        queue: source.queue,
    })
}
