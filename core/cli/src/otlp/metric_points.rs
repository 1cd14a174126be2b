//! Families of samples as OTLP has them.

use flowpipe_engine::report::{BUCKET_BOUNDS_NS, DurationBuckets};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
};

use super::resource::{Origin, text};
use crate::metric_families::family::{FamilyData, MetricFamily, OwnedLabels, SampleFamily};
use crate::metrics::Percentiles;

/// The time to which the points belong, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct PointTimes {
    /// When the run started: counters count from then.
    pub start: u64,
    /// When the families were read.
    pub now: u64,
}

/// The families as a request.
pub fn request(
    origin: &Origin,
    families: &[MetricFamily],
    times: PointTimes,
) -> ExportMetricsServiceRequest {
    let metrics = families.iter().map(|family| Metric {
        name: family.name.to_owned(),
        description: family.help.to_owned(),
        unit: unit(family.name).to_owned(),
        data: Some(data(&family.data, times)),
        ..Metric::default()
    });
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(origin.resource.clone()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(origin.scope.clone()),
                metrics: metrics.collect(),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

/// The unit of a family by its name, in the Unified Code for Units of Measure: that of a count is an annotation, which
/// names what is counted. Empty: it has none. None is `1`, which makes Prometheus append `_ratio` to the names of gauges.
fn unit(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name {
        _ if name.ends_with("_seconds") => "s",
        _ if name.ends_with("_bytes") => "By",
        _ if name.contains("_messages") => "{message}",
        "flowpipe_stage_failures" | "flowpipe_stage_timeouts" => "{message}",
        "flowpipe_stage_restarts" => "{restart}",
        "flowpipe_stage_abandoned" => "{instance}",
        "flowpipe_stage_workers" => "{worker}",
        "flowpipe_problems" => "{problem}",
        _ if name.starts_with("flowpipe_frames_") => "{frame}",
        // Facts, states, and what a stage counts by a name of its own.
        _ => "",
    }
}

fn data(data: &FamilyData, times: PointTimes) -> Data {
    match data {
        FamilyData::Counters(samples) => Data::Sum(Sum {
            data_points: numbers(samples, times.start, times.now),
            aggregation_temporality: AggregationTemporality::Cumulative as i32,
            is_monotonic: true,
        }),
        FamilyData::Gauges(samples) => Data::Gauge(Gauge {
            data_points: numbers(samples, 0, times.now),
        }),
        FamilyData::Values(values) => Data::Gauge(Gauge {
            data_points: values
                .iter()
                .map(|(labels, value)| NumberDataPoint {
                    attributes: attributes(labels),
                    time_unix_nano: times.now,
                    value: Some(Value::AsDouble(value)),
                    ..NumberDataPoint::default()
                })
                .collect(),
        }),
        FamilyData::Summaries(summaries) => Data::Summary(Summary {
            data_points: summaries
                .iter()
                .map(|(labels, of)| summary(labels, &of, times))
                .collect(),
        }),
        FamilyData::Time(nanoseconds) => Data::Gauge(Gauge {
            data_points: vec![NumberDataPoint {
                time_unix_nano: times.now,
                value: Some(Value::AsDouble(seconds(*nanoseconds))),
                ..NumberDataPoint::default()
            }],
        }),
        FamilyData::Histograms(histograms) => Data::Histogram(Histogram {
            data_points: histograms
                .iter()
                .map(|(labels, buckets)| histogram(labels, buckets, times))
                .collect(),
            aggregation_temporality: AggregationTemporality::Cumulative as i32,
        }),
    }
}

fn numbers(samples: &SampleFamily, start: u64, now: u64) -> Vec<NumberDataPoint> {
    let points = samples.iter().map(|(labels, value)| NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: start,
        time_unix_nano: now,
        value: Some(Value::AsInt(i64::try_from(value).unwrap_or(i64::MAX))),
        ..NumberDataPoint::default()
    });
    points.collect()
}

fn summary(labels: &OwnedLabels, of: &Percentiles, times: PointTimes) -> SummaryDataPoint {
    let quantiles = [(0.5, of.p50), (0.95, of.p95), (1.0, of.max)];
    SummaryDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: of.count,
        sum: of.sum,
        quantile_values: quantiles
            .map(|(quantile, value)| ValueAtQuantile { quantile, value })
            .to_vec(),
        ..SummaryDataPoint::default()
    }
}

fn histogram(
    labels: &OwnedLabels,
    buckets: &DurationBuckets,
    times: PointTimes,
) -> HistogramDataPoint {
    // Those above all bounds are one more.
    let mut counts = buckets.counts.clone();
    counts.resize(BUCKET_BOUNDS_NS.len() + 1, 0);
    HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: counts
            .iter()
            .fold(0, |total: u64, count| total.saturating_add(*count)),
        sum: Some(seconds(buckets.total_ns)),
        bucket_counts: counts,
        explicit_bounds: BUCKET_BOUNDS_NS.map(seconds).to_vec(),
        ..HistogramDataPoint::default()
    }
}

fn attributes(labels: &OwnedLabels) -> Vec<KeyValue> {
    labels
        .iter()
        .map(|(name, value)| text(name, value))
        .collect()
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric_families::family::{HistogramFamily, LatestFamily};

    const TIMES: PointTimes = PointTimes { start: 5, now: 9 };

    #[test]
    fn units_are_those_of_the_names() {
        for (name, expected) in [
            ("flowpipe_stage_call_duration_seconds", "s"),
            ("flowpipe_link_sent_bytes_total", "By"),
            ("process_resident_memory_bytes", "By"),
            ("flowpipe_frames_idle_bytes", "By"),
            ("flowpipe_stage_messages_received_total", "{message}"),
            ("flowpipe_edge_queue_messages", "{message}"),
            ("flowpipe_edge_queue_capacity_messages", "{message}"),
            ("flowpipe_edge_messages_dropped_total", "{message}"),
            ("flowpipe_stage_failures_total", "{message}"),
            ("flowpipe_stage_timeouts_total", "{message}"),
            ("flowpipe_stage_restarts_total", "{restart}"),
            ("flowpipe_stage_abandoned_total", "{instance}"),
            ("flowpipe_stage_workers", "{worker}"),
            ("flowpipe_problems_total", "{problem}"),
            ("flowpipe_frames_live", "{frame}"),
            ("flowpipe_frames_reused_total", "{frame}"),
            ("flowpipe_machine_up", ""),
            ("flowpipe_run_info", ""),
            ("flowpipe_published_total", ""),
            ("flowpipe_published_value", ""),
            ("flowpipe_published_distribution", ""),
        ] {
            assert_eq!(unit(name), expected, "{name}");
        }
    }

    #[test]
    fn counters_start_with_the_run_and_gauges_do_not() {
        let mut samples = SampleFamily::default();
        samples.add(&[("stage", "a")], u64::MAX);
        let Data::Sum(sum) = data(&FamilyData::Counters(samples.clone()), TIMES) else {
            panic!("it is a counter");
        };
        assert!(sum.is_monotonic);
        assert_eq!(
            sum.aggregation_temporality,
            AggregationTemporality::Cumulative as i32
        );
        let point = &sum.data_points[0];
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
        assert_eq!(point.value, Some(Value::AsInt(i64::MAX)));
        assert_eq!(point.attributes, [text("stage", "a")]);
        let Data::Gauge(gauge) = data(&FamilyData::Gauges(samples), TIMES) else {
            panic!("it is a gauge");
        };
        assert_eq!(gauge.data_points[0].start_time_unix_nano, 0);
    }

    #[test]
    fn values_and_distributions_are_gauges_and_summaries() {
        let mut values = LatestFamily::default();
        values.set(&[("stage", "a")], -1.5);
        let Data::Gauge(gauge) = data(&FamilyData::Values(values), TIMES) else {
            panic!("it is a gauge");
        };
        let point = &gauge.data_points[0];
        assert_eq!(point.value, Some(Value::AsDouble(-1.5)));
        assert_eq!(point.attributes, [text("stage", "a")]);
        let mut summaries = LatestFamily::default();
        let samples = Percentiles {
            count: 3,
            p50: 2.0,
            p95: 2.5,
            max: 4.0,
            sum: 8.25,
        };
        summaries.set(&[("stage", "a")], samples);
        let Data::Summary(summary) = data(&FamilyData::Summaries(summaries), TIMES) else {
            panic!("it is a summary");
        };
        let point = &summary.data_points[0];
        assert_eq!((point.count, point.sum), (3, 8.25));
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
        let quantiles = point.quantile_values.iter();
        let quantiles: Vec<_> = quantiles.map(|it| (it.quantile, it.value)).collect();
        assert_eq!(quantiles, [(0.5, 2.0), (0.95, 2.5), (1.0, 4.0)]);
    }

    #[test]
    fn a_histogram_has_a_bucket_more_than_bounds() {
        let mut histograms = HistogramFamily::default();
        let mut counts = vec![0; BUCKET_BOUNDS_NS.len()];
        counts[0] = 3;
        counts.push(4);
        histograms.add(
            &[],
            &DurationBuckets {
                counts,
                total_ns: 1_500_000_000,
            },
        );
        histograms.add(&[("stage", "a")], &DurationBuckets::default());
        let Data::Histogram(found) = data(&FamilyData::Histograms(histograms), TIMES) else {
            panic!("it is a histogram");
        };
        let [first, empty] = &found.data_points[..] else {
            panic!("{found:?}");
        };
        assert_eq!((first.count, first.sum), (7, Some(1.5)));
        assert_eq!(first.bucket_counts.len(), first.explicit_bounds.len() + 1);
        assert!(first.explicit_bounds.is_sorted());
        assert_eq!(first.explicit_bounds[0], 0.000_001_023);
        assert_eq!(
            (empty.count, empty.bucket_counts.len()),
            (0, first.bucket_counts.len())
        );
    }
}
