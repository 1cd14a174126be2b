//! The states after one step, each with the number of ways that lead there.

use crate::watch::{Stop, Watch};

/// Index of a state in its [`Layer`], in the order in which states were found.
pub type Index = u32;

/// A hash table of states that are rows of words, with numbers of any size. All numbers have room for the
/// same number of 64-bit limbs, so that a layer is three plain arrays.
pub struct Layer {
    words: usize,
    limbs: usize,
    len: usize,
    states: Vec<u64>,
    /// Little-endian.
    counts: Vec<u64>,
    /// Open addressing: one more than the index, 0 for none. Its length is a power of two.
    table: Vec<Index>,
}

impl Layer {
    /// A layer without states.
    pub fn new() -> Self {
        Self {
            words: 0,
            limbs: 1,
            len: 0,
            states: Vec::new(),
            counts: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Makes it empty, for states of so many words, numbers of so many limbs, and about so many states.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn reset(
        &mut self,
        words: usize,
        limbs: usize,
        expected: usize,
        watch: &Watch,
    ) -> Result<(), Stop> {
        self.words = words;
        self.limbs = limbs;
        self.len = 0;
        self.states.clear();
        self.counts.clear();
        self.clear_table((expected * 2).next_power_of_two().max(16), watch)
    }

    fn clear_table(&mut self, size: usize, watch: &Watch) -> Result<(), Stop> {
        const PIECE: usize = 1024;
        self.table.truncate(size);
        for piece in self.table.chunks_mut(PIECE) {
            watch.tick()?;
            piece.fill(0);
        }
        while self.table.len() < size {
            watch.tick()?;
            self.table.resize(size.min(self.table.len() + PIECE), 0);
        }
        Ok(())
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// A state.
    pub fn state(&self, index: usize) -> &[u64] {
        &self.states[index * self.words..(index + 1) * self.words]
    }

    /// In how many ways a state is reached, in limbs from the lowest.
    pub fn count(&self, index: usize) -> &[u64] {
        &self.counts[index * self.limbs..(index + 1) * self.limbs]
    }

    /// How much memory it uses, in bytes. What is set aside and was never written to takes none.
    pub fn bytes(&self) -> usize {
        (self.states.len() + self.counts.len()) * 8 + self.table.len() * 4
    }

    /// How much memory it has set aside, in bytes.
    pub fn capacity(&self) -> usize {
        (self.states.capacity() + self.counts.capacity()) * 8 + self.table.capacity() * 4
    }

    /// The most bits that a number has.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn count_bits(&self, watch: &Watch) -> Result<usize, Stop> {
        let mut most = 0;
        for index in 0..self.len {
            watch.tick()?;
            let count = self.count(index);
            if let Some(top) = count.iter().rposition(|&limb| limb != 0) {
                most = most.max(top * 64 + 64 - count[top].leading_zeros() as usize);
            }
        }
        Ok(most)
    }

    /// Adds ways that lead to a state. Gives its index, and whether it is new. The sum has to have room.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn add(
        &mut self,
        state: &[u64],
        count: &[u64],
        watch: &Watch,
    ) -> Result<(Index, bool), Stop> {
        if (self.len + 1) * 3 > self.table.len() * 2 {
            self.grow(watch)?;
        }
        let mask = self.table.len() - 1;
        // The high bits are the well mixed ones.
        let mut place = (hash(state) >> 20) as usize & mask;
        while let Some(index) = self.table[place].checked_sub(1) {
            if self.state(index as usize) == state {
                let start = index as usize * self.limbs;
                add(&mut self.counts[start..start + self.limbs], count);
                return Ok((index, false));
            }
            place = (place + 1) & mask;
        }
        // The limits on memory end the work long before there are too many states for an index.
        let index = self.len as Index;
        self.table[place] = index + 1;
        self.len += 1;
        self.states.extend_from_slice(state);
        let zeros = self.limbs.saturating_sub(count.len());
        self.counts
            .extend_from_slice(&count[..count.len().min(self.limbs)]);
        self.counts.extend(std::iter::repeat_n(0, zeros));
        Ok((index, true))
    }

    fn grow(&mut self, watch: &Watch) -> Result<(), Stop> {
        let size = self.table.len() * 2;
        self.clear_table(size, watch)?;
        for index in 0..self.len {
            watch.tick()?;
            let mut place = (hash(self.state(index)) >> 20) as usize & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = index as Index + 1;
        }
        Ok(())
    }
}

/// Multiplies and folds, word by word.
fn hash(state: &[u64]) -> u64 {
    let mut hash: u64 = 0x9E37_79B9_7F4A_7C15;
    for &word in state {
        let product = u128::from(hash ^ word) * 0xD6E8_FEB8_6659_FD93_u128;
        hash = (product as u64) ^ (product >> 64) as u64;
    }
    let product = u128::from(hash) * 0xA076_1D64_78BD_642F_u128;
    (product as u64) ^ (product >> 64) as u64
}

/// Adds the second number to the first.
fn add(sum: &mut [u64], count: &[u64]) {
    let mut carry = false;
    for (index, limb) in sum.iter_mut().enumerate() {
        let more = count.get(index).copied().unwrap_or(0);
        if more == 0 && !carry && index >= count.len() {
            break;
        }
        let (partial, first) = limb.overflowing_add(more);
        let (total, second) = partial.overflowing_add(u64::from(carry));
        *limb = total;
        carry = first || second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_numbers_of_several_limbs() {
        let never = || false;
        let watch = Watch::new(&never);
        let mut layer = Layer::new();
        layer.reset(2, 3, 1, &watch).unwrap();
        for state in 0..1000 {
            let added = layer.add(&[state, 7], &[u64::MAX], &watch).unwrap();
            assert_eq!(added, (state as Index, true));
        }
        for state in 0..1000 {
            let added = layer.add(&[state, 7], &[1, u64::MAX], &watch).unwrap();
            assert_eq!(added, (state as Index, false));
        }
        assert_eq!(layer.len(), 1000);
        assert_eq!(layer.state(999), [999, 7]);
        assert_eq!(layer.count(999), [0, 0, 1]);
        assert_eq!(layer.count_bits(&watch).unwrap(), 129);
    }
}
