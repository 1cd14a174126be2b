//! Sets of nodes of a small board.

use flowpipe_plugin::puzzle::Node;

/// The largest board, in cells: 9x9. A bridge between hexes, the most that a cell can be, is three nodes.
pub const MOST_CELLS: usize = 81;

const WORDS: usize = (MOST_CELLS * 3).div_ceil(64);

/// A set of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask([u64; WORDS]);

impl Mask {
    /// The set of the nodes from 0 up to a number of them.
    pub fn first(nodes: usize) -> Self {
        (0..nodes).collect()
    }

    /// Whether a node is in the set.
    pub fn has(&self, node: Node) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }

    /// Adds a node.
    pub fn insert(&mut self, node: Node) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: Node) {
        self.0[node / 64] &= !(1 << (node % 64));
    }

    /// Whether two sets have a node in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// What is in either set.
    pub fn union(mut self, other: &Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
        self
    }
}

impl FromIterator<Node> for Mask {
    fn from_iter<T: IntoIterator<Item = Node>>(nodes: T) -> Self {
        let mut mask = Self::default();
        for node in nodes {
            mask.insert(node);
        }
        mask
    }
}
