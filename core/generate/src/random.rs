//! Repeatable random numbers.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the
/// same seed gives the same numbers on every machine, for ever.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Numbers that depend on the seed alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The seed of one of many things that are made from one seed, by its place among them. Neighbouring
    /// seeds share none.
    #[must_use]
    pub fn seed_of(seed: u64, place: u64) -> u64 {
        Self::new(seed).number().wrapping_add(place)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of the product is even to within one part in 2^64 / bound.
        ((u128::from(self.number()) * bound as u128) >> 64) as usize
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of the items; `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Puts items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_numbers_come_out() {
        // The first outputs for seed 0 in the authors' reference implementation.
        let mut random = Random::new(0);
        assert_eq!(random.number(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.number(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<_> = (0..50).collect();
        Random::new(7).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
