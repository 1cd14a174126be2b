//! The metrics of two pipelines, by stage and name.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use serde::Serialize;

use crate::compare::messages::stage_metrics::StageMetrics;
use crate::metrics::{MetricRow, MetricValue};

/// A metric of both pipelines, or of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The stage.
    pub stage: String,
    /// The metric's name.
    pub name: String,
    /// What it is measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its value in the first. `None`: it has none there.
    pub a: Option<MetricValue>,
    /// Its value in the second.
    pub b: Option<MetricValue>,
    /// Whether it makes the pipelines differ.
    pub differs: bool,
}

/// Finds a metric by its stage, name and kind.
type MetricKey<'a> = (&'a str, &'a str, Discriminant<MetricValue>);

fn key(row: &MetricRow) -> MetricKey<'_> {
    (&row.stage, &row.name, discriminant(&row.value))
}

fn values(metrics: &StageMetrics) -> HashMap<MetricKey<'_>, MetricValue> {
    let rows = metrics.rows.iter();
    rows.map(|row| (key(row), row.value)).collect()
}

/// All metrics of two pipelines. Counters differ where stages of the same name can emit metrics in both: what one of them
/// never counts is 0 there. Other metrics may be times, and never do.
pub fn compare(a: &StageMetrics, b: &StageMetrics) -> Vec<ComparedMetric> {
    let (of_a, of_b) = (values(a), values(b));
    let only_in_b = b.rows.iter().filter(|row| !of_a.contains_key(&key(row)));
    let compared = a.rows.iter().chain(only_in_b).map(|row| {
        let is_common = a.emitters.contains(&row.stage) && b.emitters.contains(&row.stage);
        let is_counter = matches!(row.value, MetricValue::Counter(_));
        let none = (is_counter && is_common).then_some(MetricValue::Counter(0));
        let [a, b] = [&of_a, &of_b].map(|values| values.get(&key(row)).copied().or(none));
        ComparedMetric {
            stage: row.stage.clone(),
            name: row.name.clone(),
            unit: row.unit.clone(),
            a,
            b,
            differs: none.is_some() && a != b,
        }
    });
    let mut compared: Vec<ComparedMetric> = compared.collect();
    compared.sort_by(|one, other| one.stage.cmp(&other.stage));
    compared
}

impl ComparedMetric {
    /// Whether it decides if the pipelines differ.
    pub fn decides(&self) -> bool {
        let counters = (&self.a, &self.b);
        matches!(
            counters,
            (Some(MetricValue::Counter(_)), Some(MetricValue::Counter(_)))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: &str, name: &str, value: MetricValue) -> MetricRow {
        MetricRow {
            stage: stage.to_owned(),
            name: name.to_owned(),
            unit: None,
            value,
        }
    }

    fn of<const N: usize>(emitters: &[&str], rows: [MetricRow; N]) -> StageMetrics {
        StageMetrics {
            rows: rows.into(),
            emitters: emitters.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn only_counters_of_stages_of_both_differ() {
        let counter = MetricValue::Counter;
        let a = [
            row("judge", "won", counter(2)),
            row("judge", "lost", counter(1)),
            row("judge", "left", MetricValue::Gauge(1.0)),
            row("old", "nodes", counter(5)),
        ];
        let b = [
            row("judge", "won", counter(2)),
            row("judge", "left", MetricValue::Gauge(2.0)),
            row("judge", "drawn", counter(3)),
        ];
        let (a, b) = (of(&["judge", "old"], a), of(&["judge"], b));
        let compared = compare(&a, &b);
        let shown: Vec<_> = compared
            .iter()
            .map(|it| (it.name.as_str(), it.differs, it.decides()))
            .collect();
        let expected = [
            ("won", false, true),
            ("lost", true, true),
            ("left", false, false),
            ("drawn", true, true),
            ("nodes", false, false),
        ];
        assert_eq!(shown, expected);
        assert_eq!(compared[1].b, Some(counter(0)));
        assert_eq!(compared[3].a, Some(counter(0)));
        assert_eq!(compared[4].b, None);
        assert!(compare(&a, &a).iter().all(|it| !it.differs));
    }

    #[test]
    fn a_stage_that_could_count_and_does_not_differs() {
        let a = of(&["judge"], [row("judge", "won", MetricValue::Counter(2))]);
        let silent = of(&["judge"], []);
        for (compared, a, b) in [(compare(&a, &silent), 2, 0), (compare(&silent, &a), 0, 2)] {
            let [a, b] = [a, b].map(|count| Some(MetricValue::Counter(count)));
            assert_eq!((compared[0].a, compared[0].b), (a, b));
            assert!(compared[0].differs);
        }
        assert!(!compare(&a, &of(&["other"], []))[0].differs);
    }

    #[test]
    fn metrics_of_one_name_and_several_kinds_are_not_mixed() {
        let a = of(&["judge"], [row("judge", "won", MetricValue::Counter(2))]);
        let b = of(&["judge"], [row("judge", "won", MetricValue::Gauge(2.0))]);
        let compared = compare(&a, &b);
        assert_eq!(compared.len(), 2);
        assert!(compared[0].differs && !compared[1].differs);
    }
}
