//! Metrics as they are shown and sent to viewers.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_message::Tone;
use flowpipe_terminal::{counted, escape};
use serde::{Deserialize, Serialize};

use crate::metrics::samples::Percentiles;

/// A metric of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// The stage that publishes it.
    pub stage: String,
    /// Its name.
    pub name: String,
    /// What it is measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its value so far.
    #[serde(flatten)]
    pub value: MetricValue,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricValue {
    /// The sum.
    Counter(u64),
    /// The last value.
    Gauge(f64),
    /// What the samples say.
    Distribution(Percentiles),
}

/// What a stage reports in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The stage.
    pub stage: String,
    /// A sentence.
    pub text: String,
    /// Whether that is good.
    pub tone: Tone,
}

impl MetricRow {
    /// Its value with the unit.
    pub fn text(&self) -> String {
        self.value.text(self.unit.as_deref())
    }
}

impl MetricValue {
    /// The value in a unit.
    pub fn text(&self, unit: Option<&str>) -> String {
        let unit = match unit {
            Some(unit) => format!(" {}", escape(unit)),
            None => String::new(),
        };
        match self {
            Self::Counter(count) => count.to_string(),
            Self::Gauge(value) => format!("{}{unit}", number(*value)),
            Self::Distribution(of) => format!(
                "p50 {}{unit}, p95 {}{unit}, max {}{unit} ({})",
                number(of.p50),
                number(of.p95),
                number(of.max),
                counted(of.count as usize, "sample")
            ),
        }
    }
}

impl Note {
    /// The stage, and what it says.
    pub fn line(&self) -> String {
        format!("{}: {}", escape(&self.stage), escape(&self.text))
    }
}

/// A number with at most four significant digits, and whole ones with all of theirs.
fn number(value: f64) -> String {
    // A negative zero becomes zero.
    let value = value + 0.0;
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = match value.abs() {
        1e15.. => return format!("{value:.3e}"),
        1_000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        0.0001.. => 4,
        _ => return format!("{value:.3e}"),
    };
    format!("{value:.digits$}")
}

/// The most counters of a line.
const LINE: usize = 8;

/// The first counters in one line: what all stages count under one name. Empty: there are none.
pub fn summary(rows: &[MetricRow]) -> String {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for row in rows {
        let MetricValue::Counter(count) = row.value else {
            continue;
        };
        match counts.iter_mut().find(|(name, _)| *name == row.name) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => counts.push((&row.name, count)),
        }
    }
    let shown = counts.iter().take(LINE);
    let mut parts: Vec<String> = shown
        .map(|(name, count)| format!("{}: {count}", escape(name)))
        .collect();
    if counts.len() > LINE {
        parts.push(format!("and {} more", counts.len() - LINE));
    }
    parts.join(", ")
}

/// All metrics as a table. Empty: there are none.
pub fn table(rows: &[MetricRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    table.set_header(["stage", "metric", "value"]);
    for row in rows {
        table.add_row([
            escape(&row.stage).into_owned(),
            escape(&row.name).into_owned(),
            row.text(),
        ]);
    }
    if let Some(values) = table.column_mut(2) {
        values.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_few_counters() {
        let row = |number: u64| MetricRow {
            stage: "a".to_owned(),
            name: format!("n{number}"),
            unit: None,
            value: MetricValue::Counter(number),
        };
        let rows: Vec<MetricRow> = (0..10).map(row).collect();
        let line = summary(&rows);
        assert!(line.starts_with("n0: 0, n1: 1, "), "{line}");
        assert!(line.ends_with("n7: 7, and 2 more"), "{line}");
    }

    #[test]
    fn numbers_have_four_digits_and_whole_ones_all() {
        let numbers = [
            0.0, -0.0, -3.0, 123_456.0, 1_234.56, 123.456, 12.3456, 1.234_56, 0.123_456, 0.000_012,
            1.5e20,
        ];
        assert_eq!(
            numbers.map(number),
            [
                "0", "0", "-3", "123456", "1235", "123.5", "12.35", "1.235", "0.1235", "1.200e-5",
                "1.500e20"
            ]
        );
    }
}
