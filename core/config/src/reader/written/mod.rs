//! A pipeline file as written, before names are resolved: each table with its keys.

pub(crate) mod machine;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod restart;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod test;
pub(crate) mod test_buffer;
pub(crate) mod test_input;
pub(crate) mod test_output;

use serde_json::json;
use toml::Spanned;
use toml::de::DeTable;

use super::error::Findings;
use super::problem::{LONGEST_STAGE_NAME, MAX_STAGES, Problem};
use super::suggest;
use super::syntax::in_file_order;
use super::table::{DefaultValue, Entry, Key, Row, Table, a_keyword, a_text};
use super::values::{table, text, word};
use crate::pipeline::{OnStop, Record};
use machine::WrittenMachine;
use stage::WrittenStage;
use test::WrittenTest;

/// A pipeline file.
#[derive(Default)]
pub(crate) struct Written<'a, 't> {
    pub name: Option<Spanned<String>>,
    pub on_stop: Option<OnStop>,
    pub record: Option<Spanned<Record>>,
    pub machines: Vec<WrittenMachine>,
    pub stages: Vec<WrittenStage<'a, 't>>,
    pub tests: Vec<WrittenTest<'a, 't>>,
    /// The file gives stages, though perhaps none that is readable.
    has_stages: bool,
}

/// The keys of the file itself.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, Written<'a, 't>> {
    Table {
        prefix: "",
        keys: vec![
            Key {
                row: Row {
                    name: "name",
                    doc: "The pipeline's name.",
                    default: DefaultValue::Words("the file's name without its extension"),
                    schema: a_text,
                },
                read: |written, entry, findings| {
                    written.name = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "on_stop",
                    doc: "What happens to queued messages when the run is stopped.",
                    default: DefaultValue::keyword(OnStop::default()),
                    schema: a_keyword::<OnStop>,
                },
                read: |written, entry, findings| {
                    written.on_stop = word(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "record",
                    doc: "Record each run, to replay, compare and inspect it.",
                    default: DefaultValue::Words("no recording"),
                    schema: || record::keys().schema(),
                },
                read: |written, entry, findings| written.record = record::read(entry, findings),
            },
            Key {
                row: Row {
                    name: "machines",
                    doc: "The machines by name, if there are several.",
                    default: DefaultValue::Words("one machine runs all stages"),
                    schema: || {
                        json!({
                            "type": "object",
                            "propertyNames": {
                                "pattern": "^[A-Za-z0-9_-]+$",
                                "maxLength": LONGEST_STAGE_NAME,
                            },
                            "additionalProperties": machine::keys().schema(),
                        })
                    },
                },
                read: |written, entry, findings| {
                    let Some(all) = table(entry.name, entry.value, "[machines.NAME]", findings)
                    else {
                        return;
                    };
                    let all = in_file_order(all).into_iter();
                    written.machines = all
                        .filter_map(|(name, span, value)| {
                            machine::read(name, span, value, findings)
                        })
                        .collect();
                },
            },
            Key {
                row: Row {
                    name: STAGES,
                    doc: "The stages by name. Each has threads of its own.",
                    default: DefaultValue::Required,
                    schema: || {
                        json!({
                            "type": "object",
                            "minProperties": 1,
                            "maxProperties": MAX_STAGES,
                            "propertyNames": {
                                "pattern": "^[\\p{Alphabetic}\\p{N}_-]+$",
                                "maxLength": LONGEST_STAGE_NAME,
                            },
                            "additionalProperties": { "$ref": "#/definitions/stage" },
                        })
                    },
                },
                read: stages,
            },
            Key {
                row: Row {
                    name: TESTS,
                    doc: "Tests of the pipeline: see [Testing a pipeline](testing.md).",
                    default: DefaultValue::Words("none"),
                    schema: test::schema,
                },
                read: |written, entry, findings| written.tests = test::read(entry, findings),
            },
        ],
    }
}

const STAGES: &str = "stages";
/// The key of the tests.
pub(super) const TESTS: &str = "tests";

/// Reads a whole file.
pub(super) fn read<'a, 't>(root: &'a DeTable<'t>, findings: &mut Findings) -> Written<'a, 't> {
    let mut written = Written::default();
    let keys = keys();
    keys.read(&mut written, "the pipeline", root, findings);
    let names = keys.names();
    let misspelt =
        |key: &str| !names.contains(&key) && suggest::closest(key, &names) == Some(STAGES);
    if !written.has_stages && !root.keys().any(|key| misspelt(key.get_ref())) {
        findings.report(&(0..0), Problem::NoStages);
    }
    if let Some(name) = &written.name {
        let usable =
            !name.get_ref().trim().is_empty() && !name.get_ref().contains(char::is_control);
        if !usable {
            let name_text = name.get_ref().clone();
            findings.report(&name.span(), Problem::BadPipelineName { name: name_text });
        }
    }
    written
}

fn stages<'a, 't>(written: &mut Written<'a, 't>, entry: &Entry<'a, 't>, findings: &mut Findings) {
    let Some(stages) = table(entry.name, entry.value, "[stages.NAME]", findings) else {
        written.has_stages = true;
        return;
    };
    written.has_stages = !stages.is_empty();
    let stages = in_file_order(stages).into_iter();
    written.stages = stages
        .filter_map(|(name, span, value)| stage::read(name, span, value, findings))
        .collect();
}
