//! Four nodes in a ring, and what a turn at one of them forbids at the opposite one.
//!
//! Where no flow touches itself, let a flow join `a` and `b` at the node `v`, and let `d` be another
//! node beside both. An edge from `d` to `a` would make `d` part of that flow, which then touches
//! itself between `d` and `b` or closes a ring. So `d` is joined to neither. On squares where every
//! cell is covered, this makes `d` turn the same way or be a terminal: the corner-chain lemma of
//! thomasahle/numberlink.

use flowpipe_plugin::puzzle::Node;

use crate::network::Network;
use crate::watch::{Stop, Watch};

/// One pair of edges of a node and the node opposite.
#[derive(Clone, Copy, Debug)]
pub struct Square {
    /// The pair, as a subset of the node's edges.
    pub pair: u32,
    /// The node at the far side of the two neighbours.
    pub opposite: Node,
    /// Which of its edges lead to the two neighbours.
    pub closing: [usize; 2],
}

/// The squares of every node.
pub struct Squares {
    first: Vec<usize>,
    squares: Vec<Square>,
}

impl Squares {
    /// Finds them all.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn new(network: &Network, watch: &Watch) -> Result<Self, Stop> {
        let mut first = vec![0];
        let mut squares = Vec::new();
        for node in 0..network.len() {
            watch.tick()?;
            let ways = network.ways(node);
            for (j, b) in ways.iter().enumerate() {
                for (i, a) in ways[..j].iter().enumerate() {
                    for beside in network.ways(a.node) {
                        let opposite = beside.node;
                        let to = |target: Node| {
                            let ways = network.ways(opposite);
                            ways.iter().position(|way| way.node == target)
                        };
                        if opposite == node {
                            continue;
                        }
                        if let (Some(to_a), Some(to_b)) = (to(a.node), to(b.node)) {
                            squares.push(Square {
                                pair: 1 << i | 1 << j,
                                opposite,
                                closing: [to_a, to_b],
                            });
                        }
                    }
                }
            }
            first.push(squares.len());
        }
        Ok(Self { first, squares })
    }

    /// The squares of a node.
    pub fn at(&self, node: Node) -> &[Square] {
        &self.squares[self.first[node]..self.first[node + 1]]
    }
}
