//! A pipeline file as written, before names are resolved.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Findings;
use super::problem::{LONGEST_STAGE_NAME, Problem};
use super::source::Span;
use super::syntax::in_file_order;
use super::values::{capacity, table, text, time, times, truth, unknown, word, wrong_type};
use super::{grammar, suggest};
use crate::pipeline::{Isolation, OnError, OnStop, Queue, Record, Restart};

/// A pipeline file.
#[derive(Default)]
pub(super) struct Written<'a, 't> {
    pub name: Option<Spanned<String>>,
    pub on_stop: Option<OnStop>,
    pub record: Option<Record>,
    pub stages: Vec<WrittenStage<'a, 't>>,
}

/// A stage.
pub(super) struct WrittenStage<'a, 't> {
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
}

/// The `plugin` of a stage.
pub(super) struct WrittenPlugins {
    pub names: Vec<Spanned<String>>,
    /// Written as a list: the config is keyed by plugin.
    pub race: bool,
}

/// The `from` of a stage.
pub(super) struct WrittenFrom {
    pub key: Span,
    pub sources: Vec<WrittenSource>,
    /// A part was unreadable, so the stage may have more inputs.
    pub incomplete: bool,
}

/// One entry of a `from`.
pub(super) struct WrittenSource {
    pub span: Span,
    pub stage: Spanned<String>,
    pub port: Option<Spanned<String>>,
    pub into: Option<Spanned<String>>,
    pub queue: Option<Queue>,
}

/// Reads a whole file.
pub(super) fn read<'a, 't>(root: &'a DeTable<'t>, findings: &mut Findings) -> Written<'a, 't> {
    let mut written = Written::default();
    let mut stages_given = false;
    for (key, span, value) in in_file_order(root) {
        match key {
            "name" => written.name = text("name", value, findings),
            "on_stop" => written.on_stop = word("on_stop", value, findings),
            "record" => written.record = record(key, &span, value, findings),
            "stages" => {
                let Some(stages) = table("stages", value, "[stages.NAME]", findings) else {
                    stages_given = true;
                    continue;
                };
                stages_given |= !stages.is_empty();
                let stages = in_file_order(stages).into_iter();
                written.stages = stages
                    .filter_map(|(n, s, v)| stage(n, s, v, findings))
                    .collect();
            }
            _ => {
                stages_given |= suggest::closest(key, &grammar::PIPELINE.names()) == Some("stages");
                unknown(key, &span, "the pipeline", &grammar::PIPELINE, findings);
            }
        }
    }
    if !stages_given {
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

fn record(
    key: &str,
    key_span: &Span,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<Record> {
    let fields = table(key, value, "[record] with file = \"FILE.mcap\"", findings)?;
    let (mut file, mut lossless) = (None, None);
    for (key, span, value) in in_file_order(fields) {
        match key {
            "file" => file = text("file", value, findings),
            "lossless" => lossless = truth("lossless", value, findings),
            _ => unknown(key, &span, "[record]", &grammar::RECORD, findings),
        }
    }
    let given = file.as_ref().is_some_and(|file| !file.get_ref().is_empty());
    if !given {
        findings.report(key_span, Problem::NoRecordFile);
        return None;
    }
    file.map(|file| Record {
        file: file.into_inner(),
        lossless: lossless.unwrap_or_default(),
    })
}

fn stage<'a, 't>(
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
    let fields = table(
        name,
        value,
        "[stages.NAME] with plugin = \"PLUGIN\"",
        findings,
    )?;
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
    };
    for (key, span, value) in in_file_order(fields) {
        match key {
            "plugin" => stage.plugin = Some(plugins(value, findings)),
            "config" => stage.config = Some(value),
            "from" => stage.from = Some(from(span, value, findings)),
            "queue" => stage.queue = queue(value, findings).map(|queue| Spanned::new(span, queue)),
            "timeout" => stage.timeout = time("timeout", value, findings),
            "watchdog" => stage.watchdog = time("watchdog", value, findings),
            "on_error" => stage.on_error = word("on_error", value, findings),
            "isolation" => stage.isolation = isolation(value, findings),
            "restart" => stage.restart = restart(value, findings),
            _ => unknown(
                key,
                &span,
                &format!("stage `{name}`"),
                &grammar::STAGE,
                findings,
            ),
        }
    }
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

fn from(key: Span, value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> WrittenFrom {
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
        key,
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
    fields: &DeTable<'_>,
    findings: &mut Findings,
) -> Option<WrittenSource> {
    let (mut stage, mut port, mut into, mut rules) = (None, None, None, None);
    let mut named = false;
    for (key, key_span, value) in in_file_order(fields) {
        match key {
            "stage" => {
                named = true;
                stage = text("stage", value, findings);
            }
            "port" => port = text("port", value, findings),
            "into" => into = text("into", value, findings),
            "queue" => rules = queue(value, findings),
            _ => unknown(key, &key_span, "`from`", &grammar::SOURCE, findings),
        }
    }
    if !named {
        let message = "this `from` names no stage".to_owned();
        let hint = Some("add stage = \"NAME\"".to_owned());
        findings.report(&span, Problem::Missing { message, hint });
    }
    Some(WrittenSource {
        span,
        stage: stage?,
        port,
        into,
        queue: rules,
    })
}

fn queue(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Queue> {
    let fields = table(
        "queue",
        value,
        "queue = { capacity = 16, when_full = \"block\" }",
        findings,
    )?;
    let mut queue = Queue::default();
    for (key, span, value) in in_file_order(fields) {
        match key {
            "capacity" => {
                if let Some(capacity) = capacity(value, findings) {
                    queue.capacity = capacity;
                }
            }
            "when_full" => {
                if let Some(when_full) = word("when_full", value, findings) {
                    queue.when_full = when_full;
                }
            }
            _ => unknown(key, &span, "`queue`", &grammar::QUEUE, findings),
        }
    }
    Some(queue)
}

fn isolation(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Isolation> {
    let isolation = word("isolation", value, findings);
    if isolation == Some(Isolation::Process) && !cfg!(unix) {
        findings.report(&value.span(), Problem::NoIsolation);
    }
    isolation
}

fn restart(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Restart> {
    let fields = table(
        "restart",
        value,
        "restart = { max = 8, backoff = \"100ms\" }",
        findings,
    )?;
    let mut restart = Restart::default();
    for (key, span, value) in in_file_order(fields) {
        match key {
            "max" => restart.max = times(value, findings).unwrap_or(restart.max),
            "backoff" => {
                restart.backoff = time("backoff", value, findings).unwrap_or(restart.backoff);
            }
            _ => unknown(key, &span, "`restart`", &grammar::RESTART, findings),
        }
    }
    Some(restart)
}

/// The queue of an edge: its own, its stage's, or the default.
pub(super) fn rules(source: &WrittenSource, stage: &WrittenStage<'_, '_>) -> Queue {
    source
        .queue
        .or_else(|| stage.queue.as_ref().map(|queue| *queue.get_ref()))
        .unwrap_or_default()
}
