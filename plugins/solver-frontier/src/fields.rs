//! Small numbers packed into words.

/// Fields of one width in a row of 64-bit words; none lies across two words.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    bits: u32,
    per_word: usize,
    first_word: usize,
    words: usize,
}

impl Fields {
    /// `count` fields that hold numbers up to `most`, from a word on.
    pub fn new(first_word: usize, count: usize, most: usize) -> Self {
        let bits = (usize::BITS - most.leading_zeros()).max(1);
        let per_word = (64 / bits) as usize;
        Self {
            bits,
            per_word,
            first_word,
            words: count.div_ceil(per_word),
        }
    }

    /// The word after the last one.
    pub fn end(&self) -> usize {
        self.first_word + self.words
    }

    fn place(&self, index: usize) -> (usize, u32) {
        let word = self.first_word + index / self.per_word;
        // Below 64, so the cast keeps it.
        (word, (index % self.per_word) as u32 * self.bits)
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// A field.
    #[inline]
    pub fn get(&self, words: &[u64], index: usize) -> usize {
        let (word, shift) = self.place(index);
        (words[word] >> shift & self.mask()) as usize
    }

    /// Sets a field to a number that it has room for.
    #[inline]
    pub fn set(&self, words: &mut [u64], index: usize, number: usize) {
        let (word, shift) = self.place(index);
        words[word] = words[word] & !(self.mask() << shift) | (number as u64) << shift;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_set_is_there(numbers in proptest::collection::vec(0..5000_usize, 1..40), first in 0..3_usize) {
            let most = numbers.iter().copied().max().unwrap_or(0);
            let fields = Fields::new(first, numbers.len(), most);
            let mut words = vec![u64::MAX; fields.end()];
            for (index, &number) in numbers.iter().enumerate() {
                fields.set(&mut words, index, number);
            }
            for (index, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(fields.get(&words, index), number);
            }
            prop_assert!(words[..first].iter().all(|&word| word == u64::MAX));
        }
    }
}
