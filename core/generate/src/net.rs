//! A board's graph laid out for millions of small steps: flat lists of small numbers.

use flowpipe_puzzle::Board;

/// A node of the board's graph, or [`NONE`].
pub(crate) type Node = u32;

/// No node.
pub(crate) const NONE: Node = Node::MAX;

/// The nodes of a board and which of them are neighbours.
pub(crate) struct Net {
    /// Neighbours of node `n`: `neighbours[first[n]..first[n + 1]]`.
    neighbours: Vec<Node>,
    first: Vec<u32>,
    cell_of: Vec<u32>,
    /// Whether the node is a way over a bridge: its flow goes on at both ends.
    bridge: Vec<bool>,
}

impl Net {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a board has at most 2^17 cells, and a cell at most three nodes"
    )]
    pub(crate) fn new(board: &Board) -> Self {
        let graph = board.graph();
        let mut net = Self {
            neighbours: Vec::new(),
            first: vec![0],
            cell_of: Vec::new(),
            bridge: Vec::new(),
        };
        for node in 0..graph.len() {
            let links = graph.links(node).iter();
            net.neighbours.extend(links.map(|link| link.node as Node));
            net.first.push(net.neighbours.len() as u32);
            let cell = graph.cell_of(node);
            net.cell_of.push(cell as u32);
            net.bridge.push(board.is_bridge(cell));
        }
        net
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.cell_of.len()
    }

    pub(crate) fn neighbours(&self, node: Node) -> &[Node] {
        let node = node as usize;
        &self.neighbours[self.first[node] as usize..self.first[node + 1] as usize]
    }

    pub(crate) fn cell_of(&self, node: Node) -> usize {
        self.cell_of[node as usize] as usize
    }

    pub(crate) fn is_bridge(&self, node: Node) -> bool {
        self.bridge[node as usize]
    }
}
