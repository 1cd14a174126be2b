//! Samples of a distribution, in bounded memory.

use serde::{Deserialize, Serialize};

use crate::quantile::quantile;

/// How many samples are kept. Of more, this many are chosen, each with the same chance (Vitter 1985, algorithm R).
const KEPT: usize = 1_000;

/// Samples of a distribution. The count, the sum and the largest one are exact; so are percentiles of up to 1,000 samples.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<f64>,
    count: u64,
    sum: f64,
    most: f64,
    /// The state of a linear congruential generator, so that the same samples always give the same percentiles.
    random: u64,
}

/// The percentiles of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many samples there are.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The largest sample.
    pub max: f64,
    /// The sum of all samples. It is for monitoring systems, and not sent to viewers.
    #[serde(skip)]
    pub sum: f64,
}

impl Samples {
    /// Adds a sample.
    pub fn add(&mut self, value: f64) {
        self.most = match self.count {
            0 => value,
            _ => self.most.max(value),
        };
        self.count += 1;
        self.sum += value;
        if self.kept.len() < KEPT {
            self.kept.push(value);
            return;
        }
        // Knuth's constants for 64 bits; the upper bits are the random ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let place = (self.random >> 33) % self.count;
        if let Some(kept) = self.kept.get_mut(place as usize) {
            *kept = value;
        }
    }

    /// Their percentiles.
    pub fn percentiles(&self) -> Percentiles {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share).unwrap_or_default();
        Percentiles {
            count: self.count,
            p50: at(0.5),
            p95: at(0.95),
            max: self.most,
            sum: self.sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_a_thousand_samples_are_exact() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentiles(), Percentiles::default());
        for value in (-500..500).rev() {
            samples.add(f64::from(value));
        }
        let expected = Percentiles {
            count: 1_000,
            p50: -1.0,
            p95: 449.0,
            max: 499.0,
            sum: -500.0,
        };
        assert_eq!(samples.percentiles(), expected);
    }

    #[test]
    fn of_many_samples_the_percentiles_are_close_and_memory_is_bounded() {
        let mut samples = Samples::default();
        for value in 0..100_000 {
            samples.add(f64::from(value));
        }
        let found = samples.percentiles();
        assert_eq!((found.count, found.max), (100_000, 99_999.0));
        // A thousand random samples: the standard deviation of the median is 1.6 %.
        assert!((found.p50 - 50_000.0).abs() < 6_000.0, "{found:?}");
        assert!((found.p95 - 95_000.0).abs() < 3_000.0, "{found:?}");
        assert_eq!(samples.kept.len(), KEPT);
    }
}
