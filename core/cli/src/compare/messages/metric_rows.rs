//! The metrics of two pipelines, by stage and name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::compare::messages::metric_totals::{LastValue, MetricTotals, SampleTotals};

/// A metric of both pipelines, or of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricRow {
    /// The stage.
    pub stage: String,
    /// The metric's name; `notes` for the number of notes.
    pub name: String,
    /// The kind of metric.
    pub kind: MetricKind,
    /// Its value in the first. `None`: it has none there.
    pub a: Option<MetricValue>,
    /// Its value in the second.
    pub b: Option<MetricValue>,
    /// Whether it makes the pipelines differ.
    pub differs: bool,
}

/// The kind of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    Counter,
    Gauge,
    Distribution,
    Note,
    /// Metrics of too many names.
    LeftOut,
}

/// The value of a metric over a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MetricValue {
    /// Of a counter, or a number of notes.
    Sum(u64),
    /// Of a gauge.
    Last(LastValue),
    /// Of a distribution.
    Samples(SampleTotals),
}

/// All metrics of two pipelines. Counters differ where stages of the same name emit metrics in both: what one of them never
/// counts is 0 there. Other metrics may be times, and never do.
pub fn rows(
    a: &BTreeMap<String, MetricTotals>,
    b: &BTreeMap<String, MetricTotals>,
) -> Vec<MetricRow> {
    let stages: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut rows = Vec::new();
    for stage in stages {
        let (of_a, of_b) = (a.get(stage), b.get(stage));
        let mut add = |name: &str, kind, [a, b]: [Option<MetricValue>; 2], differs| {
            rows.push(MetricRow {
                stage: stage.clone(),
                name: name.to_owned(),
                kind,
                a,
                b,
                differs,
            });
        };
        let sides = [of_a, of_b];
        for name in names(sides, |totals| &totals.counters) {
            let sums = sides.map(|side| Some(side?.counters.get(name).copied().unwrap_or(0)));
            let differs = matches!(sums, [Some(a), Some(b)] if a != b);
            let values = sums.map(|sum| sum.map(MetricValue::Sum));
            add(name, MetricKind::Counter, values, differs);
        }
        for name in names(sides, |totals| &totals.gauges) {
            let values = sides.map(|side| side?.gauges.get(name).cloned().map(MetricValue::Last));
            add(name, MetricKind::Gauge, values, false);
        }
        for name in names(sides, |totals| &totals.distributions) {
            let values = sides.map(|side| {
                let samples = side?.distributions.get(name).cloned();
                samples.map(MetricValue::Samples)
            });
            add(name, MetricKind::Distribution, values, false);
        }
        let notes = sides.map(|side| side.map(|totals| totals.notes));
        let left_out = sides.map(|side| side.map(|totals| totals.left_out));
        for (name, kind, counts) in [
            ("notes", MetricKind::Note, notes),
            ("left out", MetricKind::LeftOut, left_out),
        ] {
            if counts.iter().flatten().any(|&count| count > 0) {
                add(name, kind, counts.map(|it| it.map(MetricValue::Sum)), false);
            }
        }
    }
    rows
}

/// The names of a kind of metric, of both.
fn names<'a, T: 'a>(
    sides: [Option<&'a MetricTotals>; 2],
    of: impl Fn(&'a MetricTotals) -> &'a BTreeMap<String, T>,
) -> BTreeSet<&'a String> {
    sides
        .into_iter()
        .flatten()
        .flat_map(|totals| of(totals).keys())
        .collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_message::{Metric, Metrics};

    use super::*;

    fn totals(all: &[(&str, Vec<Metric>)]) -> BTreeMap<String, MetricTotals> {
        let one = |(stage, metrics): &(&str, Vec<Metric>)| {
            let mut totals = MetricTotals::default();
            totals.add(&Metrics::new(metrics.clone()));
            ((*stage).to_owned(), totals)
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn only_counters_of_stages_of_both_differ() {
        let a = totals(&[
            (
                "judge",
                vec![
                    Metric::counter("won", 2),
                    Metric::counter("lost", 1),
                    Metric::gauge("left", 1.0),
                    Metric::note("a"),
                ],
            ),
            ("old", vec![Metric::counter("nodes", 5)]),
        ]);
        let b = totals(&[(
            "judge",
            vec![
                Metric::counter("won", 2),
                Metric::gauge("left", 2.0),
                Metric::distribution("ms", vec![1.0]),
            ],
        )]);
        let rows = rows(&a, &b);
        let shown: Vec<_> = rows
            .iter()
            .map(|it| (it.name.as_str(), it.differs))
            .collect();
        let expected = [
            ("lost", true),
            ("won", false),
            ("left", false),
            ("ms", false),
            ("notes", false),
            ("nodes", false),
        ];
        assert_eq!(shown, expected);
        let sum = |value| Some(MetricValue::Sum(value));
        assert_eq!((&rows[0].a, &rows[0].b), (&sum(1), &sum(0)));
        assert_eq!((&rows[5].a, &rows[5].b), (&sum(5), &None));
    }
}
