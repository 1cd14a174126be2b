//! A comparison message by message, as text.

use std::fmt::Write as _;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_terminal::{counted, escape};

use crate::compare::difference::PipelineId;
use crate::compare::messages::compared_metrics::ComparedMetric;
use crate::compare::messages::comparison::MessageComparison;
use crate::compare::messages::joined::{JoinedMessages, MessageDifference, MessagePair, decides};
use crate::compare::table;
use crate::compare::text::write_pipeline;
use crate::metrics::MetricValue;
use crate::show::colour::{BAD, GOOD, HEADING, QUIET, paint};

/// How many differences are printed; `--json` has more.
const PRINTED: usize = 20;

/// The whole comparison, with the differences first.
pub fn text(comparison: &MessageComparison, colours: bool) -> String {
    let mut text = String::new();
    let noun = "message";
    write_pipeline(&mut text, "A", &comparison.a, noun, colours);
    write_pipeline(&mut text, "B", &comparison.b, noun, colours);
    let messages = &comparison.messages;
    if messages.different > 0 {
        text.push('\n');
    }
    // Writing to a String can't fail.
    for pair in messages.differences.iter().take(PRINTED) {
        let _ = writeln!(text, "{}", difference(pair, colours));
    }
    let more = messages.different.saturating_sub(PRINTED);
    if more > 0 {
        let line = format!("and {} more", counted(more, "difference"));
        let _ = writeln!(text, "{}", paint(&line, QUIET, colours));
    }
    text.push('\n');
    text += &schemas(messages);
    text += &metrics(&comparison.metrics);
    text += &table::stages(&comparison.stages);
    let _ = writeln!(text, "{}", summary(comparison, colours));
    text
}

/// One line.
fn difference(pair: &MessagePair, colours: bool) -> String {
    let place = match &pair.frame {
        Some(frame) => format!("frame {} of {}", frame.number, escape(&frame.output())),
        None => "without a frame".to_owned(),
    };
    let number = match pair.number {
        1 => String::new(),
        number => format!(", number {number}"),
    };
    let (schema, stage) = (escape(&pair.schema), escape(&pair.stage));
    let what = match &pair.difference {
        MessageDifference::Field(field) => {
            let value = |json: &Option<String>| match json {
                Some(json) => escape(json).into_owned(),
                None => "nothing".to_owned(),
            };
            let pointer = match field.pointer.as_str() {
                "" => "the whole value".into(),
                pointer => escape(pointer),
            };
            format!("{pointer}: A {}, B {}", value(&field.a), value(&field.b))
        }
        MessageDifference::Pixels => "other pixels".to_owned(),
        MessageDifference::Unlocated => "other JSON".to_owned(),
        MessageDifference::Alone { by } => match by {
            PipelineId::A => "only in A".to_owned(),
            PipelineId::B => "only in B".to_owned(),
        },
    };
    let style = match decides(&pair.schema) {
        true => BAD,
        false => QUIET,
    };
    format!(
        "{}: {}",
        paint(
            &format!("{place}, {schema} of {stage}{number}"),
            HEADING,
            colours
        ),
        paint(&what, style, colours)
    )
}

/// The counts by schema. Empty if there are no messages.
fn schemas(messages: &JoinedMessages) -> String {
    if messages.schemas.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    table.set_header(["schema", "equal", "different", "only in A", "only in B"]);
    for (schema, counts) in &messages.schemas {
        let mut row = vec![escape(schema).into_owned()];
        let counts = [
            counts.equal,
            counts.different,
            counts.a_alone,
            counts.b_alone,
        ];
        row.extend(counts.map(|count| count.to_string()));
        table.add_row(row);
    }
    finish(table, 1)
}

/// The metrics of both. Empty if there are none.
fn metrics(rows: &[ComparedMetric]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    table.set_header(["stage", "metric", "A", "B", ""]);
    for row in rows {
        let value = |value: &Option<MetricValue>| {
            let text = value.map(|value| value.text(row.unit.as_deref()));
            text.unwrap_or_else(|| "-".to_owned())
        };
        table.add_row([
            escape(&row.stage).into_owned(),
            escape(&row.name).into_owned(),
            value(&row.a),
            value(&row.b),
            if row.differs { "differs" } else { "" }.to_owned(),
        ]);
    }
    finish(table, 2)
}

/// Renders the table, with the columns from `first` on aligned to the right.
fn finish(mut table: Table, first: usize) -> String {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn summary(comparison: &MessageComparison, colours: bool) -> String {
    let messages = &comparison.messages;
    let compared = counted(messages.compared(), "message");
    let frames = counted(messages.frames, "frame");
    let mut parts = Vec::new();
    let deciding = messages.deciding();
    if deciding > 0 {
        let verb = if deciding == 1 { "differs" } else { "differ" };
        let text = format!("{deciding} of {compared} {verb}");
        parts.push(paint(&text, BAD, colours));
    } else if comparison.is_empty() {
        let text = "there is nothing to compare: neither emits a message on the recording";
        parts.push(paint(text, BAD, colours));
    } else {
        let text = format!("{compared} on {frames}: the same");
        parts.push(paint(&text, GOOD, colours));
    }
    let counters = comparison.metrics.iter().filter(|row| row.differs).count();
    if counters > 0 {
        let verb = if counters == 1 { "differs" } else { "differ" };
        let text = format!("{} {verb}", counted(counters, "counter"));
        parts.push(paint(&text, BAD, colours));
    }
    if comparison.failures_differ() {
        parts.push(paint("failures differ", BAD, colours));
    }
    let quiet = messages.different - deciding;
    if quiet > 0 {
        let verb = if quiet == 1 { "differs" } else { "differ" };
        parts.push(format!(
            "{} {verb}, which does not count",
            counted(quiet, "overlay")
        ));
    }
    parts.join(", ")
}
