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
}

#[cfg(test)]
mod tests {
    use super::*;

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
