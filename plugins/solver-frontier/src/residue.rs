//! What a node can still become while its edges are decided one by one: a small automaton.

use crate::subsets::{self, EMPTY_ONLY, Subsets};

/// A state of the automaton of one node; the numbers are its own.
pub type Class = usize;

/// The automaton: a class is the set of those subsets of the undecided edges that may be on. Which of the
/// decided ones are on does not matter otherwise, so this keeps states few.
#[derive(Clone, Debug)]
pub struct Residues {
    classes: Vec<Subsets>,
    /// By class, by edge of the node: the class when the edge is on, when it is off.
    after: Vec<[[Option<u8>; 2]; 6]>,
    /// Class by class a bit, see [`Residues::is_done`].
    done: u64,
    /// Class by class a bit, see [`Residues::is_end`].
    ends: u64,
}

impl Residues {
    /// The automaton of a node that begins with these subsets and whose edges `before` are decided in
    /// this order, all others when the node itself is swept.
    pub fn new(subsets: Subsets, before: &[usize]) -> Self {
        let mut residues = Self {
            classes: Vec::with_capacity(8),
            after: Vec::with_capacity(8),
            done: 0,
            ends: 0,
        };
        residues.class_of(subsets);
        let mut reached = vec![0];
        for &edge in before {
            let mut next = Vec::new();
            for class in reached {
                let set = residues.classes[class];
                let outcomes = [subsets::without(set, edge), subsets::after(set, edge)];
                for (on, set) in outcomes.into_iter().enumerate() {
                    if set == 0 {
                        continue;
                    }
                    let to = residues.class_of(set);
                    // At most 1 + 6 + 15 subsets are on at a time, so there are fewer classes than that.
                    residues.after[class][edge][on] = u8::try_from(to).ok();
                    if !next.contains(&to) {
                        next.push(to);
                    }
                }
            }
            reached = next;
        }
        residues
    }

    fn class_of(&mut self, set: Subsets) -> Class {
        let known = self.classes.iter().position(|&class| class == set);
        known.unwrap_or_else(|| {
            let class = self.classes.len();
            let is_end = subsets::each(set).all(|subset| subset.count_ones() == 1);
            self.classes.push(set);
            self.after.push([[None; 2]; 6]);
            self.done |= u64::from(set == EMPTY_ONLY) << class;
            self.ends |= u64::from(is_end) << class;
            class
        })
    }

    /// How many classes there are. The first is the node before anything is decided.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// The subsets that a class represents.
    pub fn subsets(&self, class: Class) -> Subsets {
        self.classes[class]
    }

    /// The class after an edge is decided; `None`: it cannot be decided so.
    pub fn after(&self, class: Class, edge: usize, on: bool) -> Option<u8> {
        self.after[class][edge][usize::from(on)]
    }

    /// Whether nothing more can happen at the node: it is full, or has to stay empty.
    pub fn is_done(&self, class: Class) -> bool {
        self.done >> class & 1 == 1
    }

    /// Whether exactly one more edge will be on: a pipe ends here for now.
    pub fn is_end(&self, class: Class) -> bool {
        self.ends >> class & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_what_is_left() {
        // All pairs of four edges, the first two decided: none, one or both of them on.
        let pairs = subsets::each(u64::MAX)
            .filter(|&subset| subset < 16 && subset.count_ones() == 2)
            .map(subsets::one)
            .sum();
        let residues = Residues::new(pairs, &[0, 1]);
        let end = |first: bool| {
            let class = residues.after(0, 0, first)?;
            residues.after(class.into(), 1, !first)
        };
        assert_eq!(end(true), end(false));
        let class = usize::from(end(true).unwrap());
        assert_eq!(residues.subsets(class), subsets::one(4) | subsets::one(8));
        assert!(residues.is_end(class) && !residues.is_done(class) && !residues.is_end(0));
    }
}
