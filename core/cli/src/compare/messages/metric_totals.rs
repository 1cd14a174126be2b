//! The metrics that a stage emitted in one run, summed up.

use std::collections::BTreeMap;

use flowpipe_message::{Metric, Metrics};
use serde::Serialize;

/// The most names of a stage. Metrics of further names are counted only.
const MOST_NAMES: usize = 1_000;

/// The metrics of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricTotals {
    /// The sums of counters, by name.
    pub counters: BTreeMap<String, u64>,
    /// The last values of gauges, by name.
    pub gauges: BTreeMap<String, LastValue>,
    /// The samples of distributions, by name.
    pub distributions: BTreeMap<String, SampleTotals>,
    /// The number of notes.
    pub notes: u64,
    /// The number of metrics with names beyond [`MOST_NAMES`].
    pub left_out: u64,
}

/// The last value of a gauge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastValue {
    pub value: f64,
    pub unit: Option<String>,
}

/// The samples of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleTotals {
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    pub unit: Option<String>,
}

impl MetricTotals {
    /// Adds the metrics of a message.
    pub fn add(&mut self, metrics: &Metrics) {
        for metric in &metrics.metrics {
            self.add_one(metric);
        }
    }

    fn add_one(&mut self, metric: &Metric) {
        let names = self.counters.len() + self.gauges.len() + self.distributions.len();
        let is_known = match metric {
            Metric::Counter { name, .. } => self.counters.contains_key(name),
            Metric::Gauge { name, .. } => self.gauges.contains_key(name),
            Metric::Distribution { name, .. } => self.distributions.contains_key(name),
            Metric::Note { .. } => true,
        };
        if !is_known && names >= MOST_NAMES {
            self.left_out += 1;
            return;
        }
        match metric {
            Metric::Counter { name, add } => {
                let sum = self.counters.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*add);
            }
            Metric::Gauge { name, value, unit } => {
                let last = LastValue {
                    value: *value,
                    unit: unit.clone(),
                };
                self.gauges.insert(name.clone(), last);
            }
            Metric::Distribution { name, values, unit } => {
                let of_name = self.distributions.entry(name.clone());
                let totals = of_name.or_insert_with(|| SampleTotals {
                    count: 0,
                    sum: 0.0,
                    min: f64::INFINITY,
                    max: f64::NEG_INFINITY,
                    unit: unit.clone(),
                });
                for &value in values {
                    totals.count += 1;
                    totals.sum += value;
                    totals.min = totals.min.min(value);
                    totals.max = totals.max.max(value);
                }
            }
            Metric::Note { .. } => self.notes += 1,
        }
    }
}

impl SampleTotals {
    /// The mean. `None`: there are no samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_gauges_replace_and_samples_are_counted() {
        let mut totals = MetricTotals::default();
        for (add, value) in [(2, 5.0), (u64::MAX, 3.0)] {
            totals.add(&Metrics::new(vec![
                Metric::counter("won", add),
                Metric::gauge("left", value).with_unit("px"),
                Metric::distribution("clicks", vec![value, 1.0]),
                Metric::distribution("none", vec![]),
                Metric::note("won"),
            ]));
        }
        assert_eq!(totals.counters["won"], u64::MAX, "without an overflow");
        assert_eq!(totals.gauges["left"].value, 3.0);
        let clicks = &totals.distributions["clicks"];
        assert_eq!(
            (clicks.count, clicks.min, clicks.max, clicks.mean()),
            (4, 1.0, 5.0, Some(2.5))
        );
        assert_eq!(totals.distributions["none"].mean(), None);
        assert_eq!(totals.notes, 2);
    }

    #[test]
    fn names_are_bounded() {
        let mut totals = MetricTotals::default();
        for round in 0..2 {
            for number in 0..MOST_NAMES + 5 {
                let name = format!("{number}");
                totals.add(&Metrics::new(vec![Metric::counter(name, 1)]));
            }
            assert_eq!(totals.counters.len(), MOST_NAMES);
            assert_eq!(totals.left_out, 5 * (round + 1));
        }
        assert_eq!(totals.counters["7"], 2);
    }
}
