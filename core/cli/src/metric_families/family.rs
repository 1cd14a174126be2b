//! Families of samples, as monitoring systems have them: a name, a type, and a value for each set of labels.

use std::collections::BTreeMap;

use flowpipe_engine::report::{BUCKET_BOUNDS_NS, DurationBuckets};

use crate::metrics::Percentiles;

/// Samples of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFamily {
    /// Its name. That of a counter ends with `_total`, and that of a quantity with its unit: `_seconds`, `_bytes`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// Its samples.
    pub data: FamilyData,
}

/// The samples of a family.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyData {
    /// Numbers that only rise.
    Counters(SampleFamily),
    /// Numbers that rise and fall.
    Gauges(SampleFamily),
    /// Values of any unit that rise and fall.
    Values(LatestFamily<f64>),
    /// Distributions of values of any unit, by their percentiles.
    Summaries(LatestFamily<Percentiles>),
    /// A time without labels, in nanoseconds. Its family is in seconds.
    Time(u64),
    /// Durations. Their family is in seconds.
    Histograms(HistogramFamily),
}

/// The labels of a sample: names with values.
pub type Labels<'a> = [(&'static str, &'a str)];

/// Labels that are kept.
pub type OwnedLabels = Vec<(&'static str, String)>;

/// Samples that add up where their labels are equal: monitoring systems refuse a sample that is there twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleFamily(BTreeMap<OwnedLabels, u64>);

/// Values of which the last one counts where their labels are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct LatestFamily<T>(BTreeMap<OwnedLabels, T>);

/// The same as [`SampleFamily`] for histograms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramFamily(BTreeMap<OwnedLabels, DurationBuckets>);

impl MetricFamily {
    /// Whether it has no sample.
    pub fn is_empty(&self) -> bool {
        match &self.data {
            FamilyData::Counters(samples) | FamilyData::Gauges(samples) => samples.0.is_empty(),
            FamilyData::Values(values) => values.0.is_empty(),
            FamilyData::Summaries(summaries) => summaries.0.is_empty(),
            FamilyData::Histograms(histograms) => histograms.0.is_empty(),
            FamilyData::Time(_) => false,
        }
    }
}

impl SampleFamily {
    /// Adds a sample.
    pub fn add(&mut self, labels: &Labels<'_>, value: u64) {
        let total = self.0.entry(owned(labels)).or_default();
        *total = total.saturating_add(value);
    }

    /// The samples, in the order of their labels.
    pub fn iter(&self) -> impl Iterator<Item = (&OwnedLabels, u64)> {
        self.0.iter().map(|(labels, value)| (labels, *value))
    }
}

impl<T> Default for LatestFamily<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy> LatestFamily<T> {
    /// Replaces the value of these labels.
    pub fn set(&mut self, labels: &Labels<'_>, value: T) {
        self.0.insert(owned(labels), value);
    }

    /// The values, in the order of their labels.
    pub fn iter(&self) -> impl Iterator<Item = (&OwnedLabels, T)> {
        self.0.iter().map(|(labels, value)| (labels, *value))
    }
}

impl HistogramFamily {
    /// Adds a histogram. Counts beyond the buckets are ignored.
    pub fn add(&mut self, labels: &Labels<'_>, buckets: &DurationBuckets) {
        let total = self.0.entry(owned(labels)).or_default();
        let length = buckets
            .counts
            .len()
            .clamp(total.counts.len(), BUCKET_BOUNDS_NS.len() + 1);
        total.counts.resize(length, 0);
        for (total, count) in total.counts.iter_mut().zip(&buckets.counts) {
            *total = total.saturating_add(*count);
        }
        total.total_ns = total.total_ns.saturating_add(buckets.total_ns);
    }

    /// The histograms, in the order of their labels.
    pub fn iter(&self) -> impl Iterator<Item = (&OwnedLabels, &DurationBuckets)> {
        self.0.iter()
    }
}

fn owned(labels: &Labels<'_>) -> OwnedLabels {
    let labels = labels.iter();
    labels
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_equal_labels_add_up() {
        let mut samples = SampleFamily::default();
        samples.add(&[("stage", "b")], 2);
        samples.add(&[("stage", "a"), ("machine", "m")], u64::MAX);
        samples.add(&[("stage", "b")], 3);
        samples.add(&[("stage", "a"), ("machine", "m")], 1);
        let all: Vec<_> = samples.iter().map(|it| (it.0[0].1.clone(), it.1)).collect();
        assert_eq!(all, [("a".to_owned(), u64::MAX), ("b".to_owned(), 5)]);
    }

    #[test]
    fn the_last_value_of_equal_labels_counts() {
        let mut values = LatestFamily::default();
        values.set(&[("stage", "a")], 1.5);
        values.set(&[("stage", "b")], 2.5);
        values.set(&[("stage", "a")], -1.5);
        let all: Vec<_> = values.iter().map(|it| (it.0[0].1.clone(), it.1)).collect();
        assert_eq!(all, [("a".to_owned(), -1.5), ("b".to_owned(), 2.5)]);
    }

    #[test]
    fn histograms_add_up_and_have_no_more_buckets_than_there_are() {
        let mut histograms = HistogramFamily::default();
        let counts = |all: &[u64]| DurationBuckets {
            counts: all.to_vec(),
            total_ns: 5,
        };
        histograms.add(&[], &counts(&[1, 0, 4]));
        histograms.add(&[], &counts(&vec![1; BUCKET_BOUNDS_NS.len() + 7]));
        let (_, sum) = histograms.iter().next().unwrap();
        assert_eq!(sum.total_ns, 10);
        assert_eq!(sum.counts.len(), BUCKET_BOUNDS_NS.len() + 1);
        assert_eq!(sum.counts[..4], [2, 1, 5, 1]);
    }
}
