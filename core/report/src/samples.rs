//! The samples of one distribution: all are counted, and of very many every second, fourth and so on is kept.

use serde::{Serialize, Serializer};

/// Samples in the order in which they came.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<f64>,
    /// One of so many is kept.
    every: u64,
    count: u64,
    low: f64,
    high: f64,
}

/// What the page shows of them.
#[derive(Debug, PartialEq, Serialize)]
struct SampleSummary {
    /// How many there were.
    count: u64,
    /// How many of them the quantiles and bars are of.
    kept: usize,
    /// The least.
    low: f64,
    /// Half are at most this.
    p50: f64,
    /// 95 of 100 are.
    p95: f64,
    /// The greatest.
    high: f64,
    /// Where these two lie between both ends of the bars, from 0 to 1.
    places: [f64; 2],
    /// Bars of one width, from the least to the greatest: how many.
    bars: Vec<u64>,
}

/// How many bars there are.
const BARS: usize = 24;
/// Whole numbers have a bar each if they need no more.
const MOST_BARS: f64 = 40.0;

impl Samples {
    /// None yet.
    pub fn new() -> Self {
        Self {
            kept: Vec::new(),
            every: 1,
            count: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Whether some are not kept.
    pub fn is_thinned(&self) -> bool {
        self.every > 1
    }

    /// One more.
    pub fn add(&mut self, value: f64) {
        if self.count.is_multiple_of(self.every) {
            self.kept.push(value);
        }
        self.count += 1;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    /// Keeps every second of those that are kept, and of those to come.
    pub fn halve(&mut self) {
        let mut is_kept = false;
        self.kept.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.every = self.every.saturating_mul(2);
    }

    /// `None`: there are none.
    fn summary(&self) -> Option<SampleSummary> {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).copied()
        };
        let (p50, p95) = (quantile(0.5)?, quantile(0.95)?);
        // Halves, since the distance of both ends may be no finite number.
        let span = self.high / 2.0 - self.low / 2.0;
        let is_whole = sorted.iter().all(|value| value.fract() == 0.0);
        let has_bar_each = is_whole && 2.0 * span < MOST_BARS;
        let bars = match has_bar_each {
            true => 2.0 * span + 1.0,
            false => BARS as f64,
        };
        let share = |value: f64| {
            let above = value / 2.0 - self.low / 2.0;
            match has_bar_each {
                // The middle of its bar.
                true => (2.0 * above + 0.5) / bars,
                false if span > 0.0 => above / span,
                false => 0.5,
            }
        };
        let mut counts = vec![0; bars as usize];
        for &value in &sorted {
            let last = counts.len() - 1;
            counts[((share(value) * bars) as usize).min(last)] += 1;
        }
        Some(SampleSummary {
            count: self.count,
            kept: sorted.len(),
            low: self.low,
            p50,
            p95,
            high: self.high,
            places: [share(p50), share(p95)],
            bars: counts,
        })
    }
}

impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A list of no samples says nothing of them, not even how many bars there are.
        let none = SampleSummary {
            count: 0,
            kept: 0,
            low: 0.0,
            p50: 0.0,
            p95: 0.0,
            high: 0.0,
            places: [0.0; 2],
            bars: Vec::new(),
        };
        self.summary().unwrap_or(none).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Samples {
        let mut samples = Samples::new();
        values.into_iter().for_each(|value| samples.add(value));
        samples
    }

    #[test]
    fn quantiles_and_bars() {
        let summary = of((1..=100).map(f64::from)).summary().unwrap();
        assert_eq!((summary.p50, summary.p95), (50.0, 95.0));
        assert_eq!(
            (summary.low, summary.high, summary.count),
            (1.0, 100.0, 100)
        );
        assert_eq!(summary.bars.len(), BARS);
        assert_eq!(summary.bars.iter().sum::<u64>(), 100);
        // Whole numbers that are close to each other have a bar each.
        let summary = of([3.0, 5.0, 3.0, 6.0]).summary().unwrap();
        assert_eq!(summary.bars, [2, 0, 1, 1]);
        assert_eq!(summary.places, [0.125, 0.875]);
        assert_eq!(of([0.5, 0.5]).summary().unwrap().bars[BARS / 2], 2);
        assert_eq!(of([]).summary(), None);
    }

    #[test]
    fn numbers_of_any_size_have_bars() {
        for values in [
            [f64::MIN, f64::MAX],
            [0.0, f64::MIN_POSITIVE],
            [f64::MAX, f64::MAX],
            [-0.0, 1e-300],
        ] {
            let summary = of(values).summary().unwrap();
            assert_eq!(summary.bars.iter().sum::<u64>(), 2, "{values:?}");
            assert!(
                summary.places.iter().all(|it| (0.0..=1.0).contains(it)),
                "{values:?}"
            );
        }
    }

    #[test]
    fn of_many_an_even_share_is_kept() {
        let mut samples = of((0..8).map(f64::from));
        samples.halve();
        assert_eq!(samples.kept, [0.0, 2.0, 4.0, 6.0]);
        (8..12).for_each(|value| samples.add(f64::from(value)));
        assert_eq!(samples.kept, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert!(samples.is_thinned());
        let summary = samples.summary().unwrap();
        assert_eq!((summary.count, summary.kept), (12, 6));
        assert_eq!(summary.high, 11.0);
    }
}
