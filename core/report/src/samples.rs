//! The samples of one distribution: all are counted, and of very many a random selection is kept.

use serde::{Serialize, Serializer};

/// Samples of a distribution. The count and the extremes are exact.
#[derive(Clone, Debug)]
pub struct Samples {
    /// In no order.
    kept: Vec<f64>,
    /// The most that are kept. Of more, each has the same chance to be among them (Vitter 1985, algorithm R).
    capacity: usize,
    count: u64,
    min: f64,
    max: f64,
    /// The state of a linear congruential generator, so that a recording always gives the same page.
    random: u64,
}

/// What the page shows of them.
#[derive(Debug, PartialEq, Serialize)]
struct SampleSummary {
    /// How many there were.
    count: u64,
    /// How many of them the quantiles and bars are of.
    kept: usize,
    /// The least.
    min: f64,
    /// Half are at most this.
    p50: f64,
    /// 95 of 100 are.
    p95: f64,
    /// The greatest.
    max: f64,
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
            capacity: usize::MAX,
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            random: 0,
        }
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Whether some are not kept.
    pub fn is_thinned(&self) -> bool {
        self.kept.len() as u64 != self.count
    }

    /// One more.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.kept.len() < self.capacity {
            self.kept.push(value);
            return;
        }
        let place = self.below(self.count);
        if let Some(kept) = self.kept.get_mut(place as usize) {
            *kept = value;
        }
    }

    /// Keeps a random half of those that are kept, and no more from now on.
    pub fn halve(&mut self) {
        self.capacity = self.kept.len() / 2;
        // The first places of a shuffled list.
        for place in 0..self.capacity {
            let others = self.kept.len() - place;
            let other = place + self.below(others as u64) as usize;
            self.kept.swap(place, other);
        }
        self.kept.truncate(self.capacity);
    }

    /// A random number below this one, which is not 0.
    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's constants for 64 bits; the upper bits are the random ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
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
        let span = self.max / 2.0 - self.min / 2.0;
        let is_whole = sorted.iter().all(|value| value.fract() == 0.0);
        let has_bar_each = is_whole && 2.0 * span < MOST_BARS;
        let bars = match has_bar_each {
            true => 2.0 * span + 1.0,
            false => BARS as f64,
        };
        let share = |value: f64| {
            let above = value / 2.0 - self.min / 2.0;
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
            min: self.min,
            p50,
            p95,
            max: self.max,
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
            min: 0.0,
            p50: 0.0,
            p95: 0.0,
            max: 0.0,
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
        assert_eq!((summary.min, summary.max, summary.count), (1.0, 100.0, 100));
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
    fn of_many_each_has_the_same_chance() {
        let mut samples = of((0..40_000).map(f64::from));
        assert!(!samples.is_thinned());
        samples.halve();
        (40_000..70_000).for_each(|value| samples.add(f64::from(value)));
        samples.halve();
        (70_000..100_000).for_each(|value| samples.add(f64::from(value)));
        assert!(samples.is_thinned());
        let summary = samples.summary().unwrap();
        assert_eq!((summary.count, summary.kept), (100_000, 10_000));
        assert_eq!((summary.min, summary.max), (0.0, 99_999.0));
        // A thousand of each tenth: the standard deviation is 30.
        let mut tenths = [0; 10];
        for value in &samples.kept {
            tenths[(value / 10_000.0) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|it| (850..1_150).contains(it)),
            "{tenths:?}"
        );
        // None is kept twice.
        samples.kept.sort_by(f64::total_cmp);
        samples.kept.dedup();
        assert_eq!(samples.kept.len(), 10_000);
    }

    #[test]
    fn of_alternating_values_each_is_kept() {
        let mut samples = Samples::new();
        for _ in 0..5 {
            for value in 0..20_000 {
                samples.add(f64::from(1 + value % 2));
            }
            samples.halve();
        }
        let summary = samples.summary().unwrap();
        assert!(summary.kept > 600, "{summary:?}");
        // Half of them: the standard deviation is less than 2 %.
        let ones = summary.bars[0] as f64 / summary.kept as f64;
        assert!((ones - 0.5).abs() < 0.1, "{summary:?}");
    }
}
