//! Histograms of durations.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// How durations spread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many there were.
    pub count: u64,
    /// Half were at most this, to three digits.
    pub p50_ns: u64,
    /// 95 of 100 were at most this, to three digits.
    pub p95_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All together.
    pub total_ns: u64,
}

/// Collects durations.
#[derive(Debug)]
pub(crate) struct Times {
    /// `None` only if the crate refused its own settings.
    histogram: Option<Histogram<u64>>,
    max: u64,
    total: u64,
}

const HOUR: u64 = 3_600_000_000_000;

impl Default for Times {
    fn default() -> Self {
        // From 1 ns to an hour; what takes longer counts as an hour in the quantiles.
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

    pub(crate) fn spread(&self) -> Spread {
        let histogram = self.histogram.as_ref();
        let at = |quantile| {
            histogram
                .map_or(0, |histogram| histogram.value_at_quantile(quantile))
                .min(self.max)
        };
        Spread {
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
    fn spreads() {
        let mut times = Times::default();
        assert_eq!(times.spread(), Spread::default());
        for value in 1..=100 {
            times.note(value * 1000);
        }
        let spread = times.spread();
        assert_eq!(
            (spread.count, spread.max_ns, spread.total_ns),
            (100, 100_000, 5_050_000)
        );
        assert!((49_900..=50_100).contains(&spread.p50_ns), "{spread:?}");
        assert!((94_900..=95_100).contains(&spread.p95_ns), "{spread:?}");
    }
}
