//! Sets of subsets of a node's edges, as bits of one number.
//!
//! A node has at most six edges. A subset of them is a number below 64, edge by edge a bit; a set of
//! such subsets is a number of 64 bits, subset by subset a bit.

/// Bit `s` is set: the subset `s` is in the set.
pub type Subsets = u64;

/// The set that holds the empty subset only.
pub const EMPTY_ONLY: Subsets = 1;

/// All subsets that hold edge `i`.
const WITH: [Subsets; 6] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];

/// Those that hold an edge.
pub fn with(set: Subsets, edge: usize) -> Subsets {
    set & WITH[edge]
}

/// Those that do not hold an edge.
pub fn without(set: Subsets, edge: usize) -> Subsets {
    set & !WITH[edge]
}

/// Those that hold an edge, the edge taken out of each.
pub fn after(set: Subsets, edge: usize) -> Subsets {
    with(set, edge) >> (1_u32 << edge)
}

/// The set of one subset.
pub fn one(subset: u32) -> Subsets {
    1 << subset
}

/// The subsets in a set, ascending.
pub fn each(mut set: Subsets) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let subset = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(subset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_the_numbers_of_the_subsets() {
        let all: Subsets = u64::MAX;
        for edge in 0..6 {
            let holds = |subset: &u32| subset >> edge & 1 == 1;
            let expected: Vec<u32> = (0..64).filter(holds).collect();
            assert_eq!(each(with(all, edge)).collect::<Vec<_>>(), expected);
            assert_eq!(without(all, edge), !with(all, edge));
            let left: Subsets = expected
                .iter()
                .map(|subset| one(subset & !(1 << edge)))
                .sum();
            assert_eq!(after(all, edge), left);
        }
        assert_eq!(after(one(0b101), 0), one(0b100));
        assert_eq!(after(one(0b100), 0), 0);
    }
}
