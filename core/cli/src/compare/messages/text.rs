//! A comparison message by message, as text.

use std::fmt::Write as _;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_terminal::{counted, escape};

use crate::compare::difference::PipelineId;
use crate::compare::messages::compared_metrics::ComparedMetric;
use crate::compare::messages::comparison::MessageComparison;
use crate::compare::messages::joined::{JoinedMessages, MessageDifference, MessagePair, decides};
use crate::compare::messages::json_difference::{DifferentValue, shortened};
use crate::compare::offline::ChangeKind;
use crate::compare::table;
use crate::compare::text::write_pipeline;
use crate::metrics::MetricValue;
use crate::show::colour::{BAD, GOOD, HEADING, QUIET, paint};

/// How many differences are printed; `--json` has more.
const PRINTED: usize = 20;
/// The most characters of a value that are printed.
const LONGEST: usize = 60;
/// The most characters of a pointer that are printed.
const LONGEST_POINTER: usize = 200;

/// The whole comparison, with the differences first.
pub fn text(comparison: &MessageComparison, colours: bool) -> String {
    let mut text = String::new();
    // A message or a counter.
    let noun = "result";
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
            let value = |value: &Option<DifferentValue>| match value {
                Some(value) => escape(&shortened(&value.text(), LONGEST)).into_owned(),
                None => "nothing".to_owned(),
            };
            let pointer = match field.pointer.as_str() {
                "" => "the whole value".to_owned(),
                pointer => escape(&shortened(pointer, LONGEST_POINTER)).into_owned(),
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
    let differ = |count: usize| if count == 1 { "differs" } else { "differ" };
    let mut same = Vec::new();
    let mut parts = Vec::new();
    let compared = messages.compared();
    let deciding = messages.deciding();
    if deciding > 0 {
        let of = counted(compared, "message");
        let text = format!("{deciding} of {of} {}", differ(deciding));
        parts.push(paint(&text, BAD, colours));
    } else if compared > 0 {
        let frames = counted(messages.frames, "frame");
        same.push(format!("{} on {frames}", counted(compared, "message")));
    }
    let counters = comparison.counters();
    let different = comparison.metrics.iter().filter(|row| row.differs).count();
    if different > 0 {
        let of = counted(counters, "counter");
        let text = format!("{different} of {of} {}", differ(different));
        parts.push(paint(&text, BAD, colours));
    } else if counters > 0 {
        same.push(counted(counters, "counter"));
    }
    if !same.is_empty() {
        let text = format!("{}: the same", same.join(" and "));
        parts.insert(0, paint(&text, GOOD, colours));
    }
    if comparison.is_empty() {
        let text = "there is nothing to compare: neither emits a message or a counter that decides";
        parts.push(paint(text, BAD, colours));
        let mut changes = comparison.a.changes.iter().chain(&comparison.b.changes);
        if changes.any(|it| it.what == ChangeKind::IdlesDry) {
            parts.push(
                "perhaps only because stages emit nothing in a dry run (see above)".to_owned(),
            );
        }
    }
    if comparison.failures_differ() {
        parts.push(paint("failures differ", BAD, colours));
    }
    let mut changes = comparison.a.changes.iter().chain(&comparison.b.changes);
    if comparison.differs() && changes.any(|it| it.what == ChangeKind::UsesTime) {
        parts.push("perhaps only because stages use the time (see above)".to_owned());
    }
    let quiet = messages.different - deciding;
    if quiet > 0 {
        let overlays = counted(quiet, "overlay");
        let differ = differ(quiet);
        parts.push(format!("{overlays} {differ}, which does not count"));
    }
    parts.join(", ")
}
