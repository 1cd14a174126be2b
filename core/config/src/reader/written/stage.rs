//! `[stages.NAME]`.

use std::time::Duration;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::source::{self, WrittenFrom, WrittenSource};
use super::{queue, restart};
use crate::pipeline::{Isolation, OnError, Queue, Restart, Stage};
use crate::reader::error::Findings;
use crate::reader::problem::{LONGEST_STAGE_NAME, Problem};
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Key, Row, Table, a_keyword, a_text, a_time};
use crate::reader::values::{table, text, time, truth, word, workers, wrong_type};

/// A stage.
pub(crate) struct WrittenStage<'a, 't> {
    pub name: Spanned<String>,
    /// `None`: not given. An unreadable value is an empty list.
    pub plugin: Option<WrittenPlugins>,
    /// Read when the plugin is known.
    pub config: Option<&'a Spanned<DeValue<'t>>>,
    /// None: not given.
    pub from: Option<WrittenFrom>,
    /// With the span of its key.
    pub queue: Option<Spanned<Queue>>,
    pub timeout: Option<Duration>,
    pub watchdog: Option<Duration>,
    pub on_error: Option<OnError>,
    pub isolation: Option<Isolation>,
    pub restart: Option<Restart>,
    /// With the span of the number.
    pub workers: Option<Spanned<usize>>,
    pub ordered: Option<bool>,
    pub machine: Option<Spanned<String>>,
    /// With the span of the list.
    pub machines: Option<Spanned<Vec<Spanned<String>>>>,
}

/// The `plugin` of a stage.
pub(crate) struct WrittenPlugins {
    pub names: Vec<Spanned<String>>,
    /// Written as a list: the config is keyed by plugin.
    pub race: bool,
}

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenStage<'a, 't>> {
    Table {
        prefix: "",
        keys: vec![
            Key {
                row: Row {
                    name: "plugin",
                    doc: "The plugin that does the work, or a list of plugins that race: the first valid answer wins.",
                    default: DefaultValue::Required,
                    schema: || {
                        json!({ "anyOf": [
                            { "$ref": "#/definitions/plugin" },
                            {
                                "type": "array",
                                "items": { "$ref": "#/definitions/plugin" },
                                "minItems": 1,
                                "uniqueItems": true,
                            },
                        ] })
                    },
                },
                read: |stage, entry, findings| stage.plugin = Some(plugins(entry.value, findings)),
            },
            Key {
                row: Row {
                    name: "config",
                    doc: "The plugin's config; for plugins that race, keyed by plugin.",
                    default: DefaultValue::Value(json!({})),
                    schema: || json!({ "type": "object" }),
                },
                read: |stage, entry, _| stage.config = Some(entry.value),
            },
            Key {
                row: Row {
                    name: "from",
                    doc: "Where the input comes from: \"STAGE\", \"STAGE.PORT\", a table, or a list of those.",
                    default: DefaultValue::Words("none: the stage is a source"),
                    schema: || {
                        let source = json!({ "$ref": "#/definitions/source" });
                        json!({ "anyOf": [
                            source,
                            { "type": "array", "items": source, "minItems": 1 },
                        ] })
                    },
                },
                read: |stage, entry, findings| stage.from = Some(source::read(entry, findings)),
            },
            Key {
                row: Row {
                    name: "queue",
                    doc: "The rules of the queues of this stage's inputs.",
                    default: DefaultValue::Words("as below"),
                    schema: queue::schema,
                },
                read: |stage, entry, findings| {
                    let queue = queue::read(entry.value, findings);
                    stage.queue = queue.map(|queue| Spanned::new(entry.span.clone(), queue));
                },
            },
            Key {
                row: Row {
                    name: "timeout",
                    doc: "How long the work on one message may take (\"250ms\", \"2s\", \"1m30s\"); after it the work is cancelled.",
                    default: DefaultValue::Words("any time"),
                    schema: a_time,
                },
                read: |stage, entry, findings| {
                    stage.timeout = time(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "on_error",
                    doc: "What happens when the stage fails on a message.",
                    default: DefaultValue::keyword(OnError::default()),
                    schema: a_keyword::<OnError>,
                },
                read: |stage, entry, findings| {
                    stage.on_error = word(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "watchdog",
                    doc: "How long the stage may take for one message before the watchdog reports it.",
                    default: DefaultValue::time(Stage::DEFAULT_WATCHDOG),
                    schema: a_time,
                },
                read: |stage, entry, findings| {
                    stage.watchdog = time(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "restart",
                    doc: "Restart the stage after a failure. The current message is lost.",
                    default: DefaultValue::Words("no restart"),
                    schema: || restart::keys().schema(),
                },
                read: |stage, entry, findings| {
                    stage.restart = restart::read(entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "isolation",
                    doc: "Where the stage runs.",
                    default: DefaultValue::keyword(Isolation::default()),
                    schema: a_keyword::<Isolation>,
                },
                read: |stage, entry, findings| stage.isolation = isolation(entry.value, findings),
            },
            Key {
                row: Row {
                    name: "workers",
                    doc: "How many messages the stage processes at once, with `machines` on each of them. Each worker has its own instance of each plugin.",
                    default: DefaultValue::Value(json!(1)),
                    schema: || json!({ "type": "integer", "minimum": 1, "maximum": Stage::MAX_WORKERS }),
                },
                read: |stage, entry, findings| stage.workers = workers(entry.value, findings),
            },
            Key {
                row: Row {
                    name: "ordered",
                    doc: "With several workers: what descends from an earlier message leaves the stage first.",
                    default: DefaultValue::Value(json!(true)),
                    schema: || json!({ "type": "boolean" }),
                },
                read: |stage, entry, findings| {
                    stage.ordered = truth(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "machine",
                    doc: "The machine that runs the stage.",
                    default: DefaultValue::Words("required with `[machines.NAME]`"),
                    schema: a_text,
                },
                read: |stage, entry, findings| {
                    stage.machine = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "machines",
                    doc: "In place of `machine`: the machines among which the stage is distributed. Each has as many workers as `workers` says.",
                    default: DefaultValue::Words("the stage is on one machine"),
                    schema: || {
                        json!({
                            "type": "array",
                            "items": { "type": "string" },
                            "minItems": 1,
                            "uniqueItems": true,
                        })
                    },
                },
                read: |stage, entry, findings| stage.machines = machines(entry.value, findings),
            },
        ],
    }
}

/// Reads a stage.
pub(super) fn read<'a, 't>(
    name: &str,
    name_span: Span,
    value: &'a Spanned<DeValue<'t>>,
    findings: &mut Findings,
) -> Option<WrittenStage<'a, 't>> {
    if name.is_empty()
        || name.len() > LONGEST_STAGE_NAME
        || !name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    {
        findings.report(
            &name_span,
            Problem::BadStageName {
                name: name.to_owned(),
            },
        );
    }
    let example = "[stages.NAME] with plugin = \"PLUGIN\"";
    let entries = table(name, value, example, findings)?;
    let mut stage = WrittenStage {
        name: Spanned::new(name_span, name.to_owned()),
        plugin: None,
        config: None,
        from: None,
        queue: None,
        timeout: None,
        watchdog: None,
        on_error: None,
        isolation: None,
        restart: None,
        workers: None,
        ordered: None,
        machine: None,
        machines: None,
    };
    let place = format!("stage `{name}`");
    keys().read(&mut stage, &place, entries, findings);
    Some(stage)
}

fn plugins(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> WrittenPlugins {
    match value.get_ref() {
        DeValue::Array(list) => {
            if list.is_empty() {
                findings.report(&value.span(), Problem::EmptyList { what: "plugin" });
            }
            let names = list
                .iter()
                .filter_map(|name| text("plugin", name, findings))
                .collect();
            WrittenPlugins { names, race: true }
        }
        DeValue::String(_) => {
            let names = text("plugin", value, findings).into_iter().collect();
            WrittenPlugins { names, race: false }
        }
        _ => {
            wrong_type(
                "plugin",
                value,
                "a string or an array of strings",
                None,
                findings,
            );
            WrittenPlugins {
                names: Vec::new(),
                race: false,
            }
        }
    }
}

fn machines(
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<Spanned<Vec<Spanned<String>>>> {
    let DeValue::Array(list) = value.get_ref() else {
        let hint = Some("name one machine with machine = \"NAME\"".to_owned());
        wrong_type("machines", value, "an array of strings", hint, findings);
        return None;
    };
    if list.is_empty() {
        findings.report(&value.span(), Problem::EmptyList { what: "machines" });
    }
    let names = list.iter();
    let names = names.filter_map(|name| text("machines", name, findings));
    Some(Spanned::new(value.span(), names.collect()))
}

fn isolation(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Isolation> {
    let isolation = word("isolation", value, findings);
    if isolation == Some(Isolation::Process) && !cfg!(unix) {
        findings.report(&value.span(), Problem::NoIsolation);
    }
    isolation
}

/// The queue of an edge: its own, its stage's, or the default.
pub(crate) fn rules(source: &WrittenSource, stage: &WrittenStage<'_, '_>) -> Queue {
    source
        .queue
        .or_else(|| stage.queue.as_ref().map(|queue| *queue.get_ref()))
        .unwrap_or_default()
}
