//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

use flowpipe_engine::report::BUCKET_BOUNDS_NS;

use crate::metric_families::family::{
    FamilyData, HistogramFamily, Labels, LatestFamily, MetricFamily, OwnedLabels, SampleFamily,
};
use crate::metrics::Percentiles;

/// The type of a page in this format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page with these families, of which none is empty.
pub fn page(families: &[MetricFamily]) -> String {
    let mut page = Exposition::default();
    for MetricFamily { name, help, data } in families {
        match data {
            FamilyData::Counters(samples) => page.numbers(name, help, "counter", samples),
            FamilyData::Gauges(samples) => page.numbers(name, help, "gauge", samples),
            FamilyData::Values(values) => {
                page.head(name, help, "gauge");
                for (labels, value) in values.iter() {
                    page.sample(name, &written(&borrowed(labels), None), number(value));
                }
            }
            FamilyData::Summaries(summaries) => page.summaries(name, help, summaries),
            FamilyData::Time(nanoseconds) => {
                page.head(name, help, "gauge");
                page.sample(name, "", seconds(*nanoseconds));
            }
            FamilyData::Histograms(histograms) => page.histograms(name, help, histograms),
        }
    }
    page.text
}

/// A page that is being written.
#[derive(Debug, Default)]
struct Exposition {
    text: String,
}

impl Exposition {
    fn numbers(&mut self, name: &str, help: &str, kind: &str, samples: &SampleFamily) {
        self.head(name, help, kind);
        for (labels, value) in samples.iter() {
            let labels = written(&borrowed(labels), None);
            self.sample(name, &labels, value);
        }
    }

    fn summaries(&mut self, name: &str, help: &str, summaries: &LatestFamily<Percentiles>) {
        self.head(name, help, "summary");
        let (sum, count) = (format!("{name}_sum"), format!("{name}_count"));
        for (labels, of) in summaries.iter() {
            let labels = borrowed(labels);
            for (quantile, value) in [("0.5", of.p50), ("0.95", of.p95), ("1", of.max)] {
                let labels = written(&labels, Some(("quantile", quantile)));
                self.sample(name, &labels, number(value));
            }
            let labels = written(&labels, None);
            self.sample(&sum, &labels, number(of.sum));
            self.sample(&count, &labels, of.count);
        }
    }

    /// A family of durations in seconds.
    fn histograms(&mut self, name: &str, help: &str, histograms: &HistogramFamily) {
        self.head(name, help, "histogram");
        let (bucket, sum, count) = (
            format!("{name}_bucket"),
            format!("{name}_sum"),
            format!("{name}_count"),
        );
        for (labels, buckets) in histograms.iter() {
            let labels = borrowed(labels);
            let mut counts = buckets.counts.iter();
            let mut cumulative: u64 = 0;
            for bound in BUCKET_BOUNDS_NS {
                cumulative = cumulative.saturating_add(counts.next().copied().unwrap_or(0));
                let labels = written(&labels, Some(("le", &seconds(bound))));
                self.sample(&bucket, &labels, cumulative);
            }
            cumulative = counts.fold(cumulative, |total, count| total.saturating_add(*count));
            self.sample(&bucket, &written(&labels, Some(("le", "+Inf"))), cumulative);
            let labels = written(&labels, None);
            self.sample(&sum, &labels, seconds(buckets.total_ns));
            self.sample(&count, &labels, cumulative);
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}");
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

fn borrowed(labels: &OwnedLabels) -> Vec<(&'static str, &str)> {
    let labels = labels.iter();
    labels.map(|(name, value)| (*name, &**value)).collect()
}

/// The labels as they follow a name. `last`: a further one, such as the bound of a bucket.
fn written(labels: &Labels<'_>, last: Option<(&'static str, &str)>) -> String {
    let mut text = String::new();
    for (name, value) in labels.iter().copied().chain(last) {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(name);
        text.push_str("=\"");
        for character in value.chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                // A reader may take it for the end of the line.
                '\r' => text.push('\u{fffd}'),
                other => text.push(other),
            }
        }
        text.push('"');
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

/// A number with all digits.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// Nanoseconds as seconds, with all digits.
fn seconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    match rest {
        0 => whole.to_string(),
        rest => format!("{whole}.{rest:09}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_engine::report::DurationBuckets;

    use super::*;

    fn family(name: &'static str, data: FamilyData) -> MetricFamily {
        let help = "What.";
        MetricFamily { name, help, data }
    }

    #[test]
    fn labels_are_escaped() {
        let mut samples = SampleFamily::default();
        samples.add(&[("stage", "b")], 5);
        samples.add(&[("stage", "a\"\\\n\r é"), ("machine", "m")], 1);
        let families = [
            family("x_total", FamilyData::Counters(samples)),
            family("at_seconds", FamilyData::Time(1_500_000_000)),
        ];
        let expected = "# HELP x_total What.\n# TYPE x_total counter\n\
                        x_total{stage=\"a\\\"\\\\\\n\u{fffd} é\",machine=\"m\"} 1\nx_total{stage=\"b\"} 5\n\
                        # HELP at_seconds What.\n# TYPE at_seconds gauge\nat_seconds 1.5\n";
        assert_eq!(page(&families), expected);
    }

    #[test]
    fn values_and_distributions_are_gauges_and_summaries() {
        let mut values = LatestFamily::default();
        values.set(&[("stage", "a")], -1.5);
        values.set(&[("stage", "b")], f64::INFINITY);
        let mut summaries = LatestFamily::default();
        let samples = Percentiles {
            count: 3,
            p50: 2.0,
            p95: 2.5,
            max: 4.0,
            sum: 8.25,
        };
        summaries.set(&[("stage", "a")], samples);
        let families = [
            family("x_value", FamilyData::Values(values)),
            family("x_distribution", FamilyData::Summaries(summaries)),
        ];
        let expected = "# HELP x_value What.\n# TYPE x_value gauge\n\
                        x_value{stage=\"a\"} -1.5\nx_value{stage=\"b\"} +Inf\n\
                        # HELP x_distribution What.\n# TYPE x_distribution summary\n\
                        x_distribution{stage=\"a\",quantile=\"0.5\"} 2\n\
                        x_distribution{stage=\"a\",quantile=\"0.95\"} 2.5\n\
                        x_distribution{stage=\"a\",quantile=\"1\"} 4\n\
                        x_distribution_sum{stage=\"a\"} 8.25\nx_distribution_count{stage=\"a\"} 3\n";
        assert_eq!(page(&families), expected);
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_the_count() {
        let mut histograms = HistogramFamily::default();
        let counts = |all: &[u64]| DurationBuckets {
            counts: all.to_vec(),
            total_ns: 1_500_000_000,
        };
        histograms.add(&[("stage", "a")], &counts(&[1, 0, 4]));
        let mut longer = vec![0; BUCKET_BOUNDS_NS.len()];
        longer.extend([7, 1000]);
        histograms.add(&[("stage", "a")], &counts(&longer));
        histograms.add(&[("stage", "b")], &DurationBuckets::default());
        let text = page(&[family("x_seconds", FamilyData::Histograms(histograms))]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 2 * (BUCKET_BOUNDS_NS.len() + 3), "{text}");
        assert_eq!(lines[1], "# TYPE x_seconds histogram");
        assert_eq!(
            lines[2],
            "x_seconds_bucket{stage=\"a\",le=\"0.000001023\"} 1"
        );
        assert_eq!(
            lines[3],
            "x_seconds_bucket{stage=\"a\",le=\"0.000002047\"} 1"
        );
        assert_eq!(
            lines[4],
            "x_seconds_bucket{stage=\"a\",le=\"0.000004095\"} 5"
        );
        assert!(
            text.contains("x_seconds_bucket{stage=\"a\",le=\"68.719476735\"} 5\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "le=\"+Inf\"} 12\nx_seconds_sum{stage=\"a\"} 3\nx_seconds_count{stage=\"a\"} 12\n"
            ),
            "{text}"
        );
        assert!(text.ends_with(
            "le=\"+Inf\"} 0\nx_seconds_sum{stage=\"b\"} 0\nx_seconds_count{stage=\"b\"} 0\n"
        ));
    }

    #[test]
    fn seconds_have_all_digits() {
        let all = [0, 1, 1_000_000_000, 1_500_000_000, u64::MAX].map(seconds);
        assert_eq!(
            all,
            ["0", "0.000000001", "1", "1.5", "18446744073.709551615"]
        );
    }
}
