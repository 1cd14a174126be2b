//! Histograms of durations.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The distribution of durations: count, percentiles, maximum and sum, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of durations.
    pub count: u64,
    /// The median, to three digits.
    pub p50_ns: u64,
    /// The 95th percentile, to three digits.
    pub p95_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The sum.
    pub total_ns: u64,
}

/// The upper bounds of the buckets of [`DurationBuckets`], in nanoseconds and inclusive: one less than the powers of two from
/// about a microsecond to about a minute. `hdrhistogram` has a bin that ends at each, so that the counts are exact.
pub const BUCKET_BOUNDS_NS: [u64; 27] = bounds();

/// The exponent of the first bound.
const FIRST_BOUND: u32 = 10;

const fn bounds() -> [u64; 27] {
    let mut bounds = [0; 27];
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] = (1 << (FIRST_BOUND + index as u32)) - 1;
        index += 1;
    }
    bounds
}

/// The distribution of durations by buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationBuckets {
    /// How many are above the bound before and at most at the bound of this index ([`BUCKET_BOUNDS_NS`]); the last one counts
    /// those above all bounds. What is missing at the end is 0.
    pub counts: Vec<u64>,
    /// The sum, in nanoseconds.
    pub total_ns: u64,
}

/// Collects durations.
#[derive(Debug)]
pub(crate) struct Times {
    /// `None` only if `hdrhistogram` rejects these bounds.
    histogram: Option<Histogram<u64>>,
    max: u64,
    total: u64,
}

const HOUR: u64 = 3_600_000_000_000;

impl Default for Times {
    fn default() -> Self {
        // From 1 ns to an hour; longer durations count as an hour in the percentiles.
        Self {
            histogram: Histogram::new_with_bounds(1, HOUR, 3).ok(),
            max: 0,
            total: 0,
        }
    }
}

impl Times {
    pub(crate) fn note(&mut self, nanoseconds: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(nanoseconds);
        }
        self.max = self.max.max(nanoseconds);
        self.total = self.total.saturating_add(nanoseconds);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let histogram = self.histogram.as_ref();
        let at = |quantile| {
            histogram
                .map_or(0, |histogram| histogram.value_at_quantile(quantile))
                .min(self.max)
        };
        Distribution {
            count: histogram.map_or(0, Histogram::len),
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            max_ns: self.max,
            total_ns: self.total,
        }
    }

    /// The same by buckets. Walks the histogram up to the longest duration.
    pub(crate) fn buckets(&self) -> DurationBuckets {
        let mut counts = Vec::new();
        if let Some(histogram) = &self.histogram {
            let (mut counted, mut low) = (0, 0);
            for high in BUCKET_BOUNDS_NS {
                if counted == histogram.len() {
                    break;
                }
                let count = histogram.count_between(low, high);
                counts.push(count);
                counted += count;
                low = high + 1;
            }
            match histogram.len().saturating_sub(counted) {
                0 => {}
                above => counts.push(above),
            }
        }
        DurationBuckets {
            counts,
            total_ns: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_exactly_what_is_within_their_bounds() {
        let values: Vec<u64> = BUCKET_BOUNDS_NS
            .iter()
            .flat_map(|bound| [bound - 1, *bound, bound + 1, bound + bound / 3])
            .chain([0, 1, HOUR, 10 * HOUR])
            .collect();
        let mut times = Times::default();
        assert_eq!(times.buckets(), DurationBuckets::default());
        for (noted, value) in values.iter().enumerate() {
            times.note(*value);
            let buckets = times.buckets();
            let count: u64 = buckets.counts.iter().sum();
            assert_eq!(count, noted as u64 + 1);
            assert_eq!(count, times.distribution().count);
        }
        let buckets = times.buckets();
        let mut cumulative = 0;
        for (bound, count) in BUCKET_BOUNDS_NS.iter().zip(&buckets.counts) {
            cumulative += count;
            let within = values.iter().filter(|value| *value <= bound).count();
            assert_eq!(cumulative, within as u64, "at most {bound} ns");
        }
        assert_eq!(buckets.counts.len(), BUCKET_BOUNDS_NS.len() + 1);
        assert_eq!(buckets.total_ns, values.iter().sum::<u64>());
    }

    #[test]
    fn percentiles_have_three_digits() {
        let mut times = Times::default();
        assert_eq!(times.distribution(), Distribution::default());
        for value in 1..=100 {
            times.note(value * 1000);
        }
        let distribution = times.distribution();
        assert_eq!(
            (
                distribution.count,
                distribution.max_ns,
                distribution.total_ns
            ),
            (100, 100_000, 5_050_000)
        );
        assert!(
            (49_900..=50_100).contains(&distribution.p50_ns),
            "{distribution:?}"
        );
        assert!(
            (94_900..=95_100).contains(&distribution.p95_ns),
            "{distribution:?}"
        );
    }
}
