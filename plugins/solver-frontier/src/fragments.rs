//! Pieces of flows: nodes joined by edges that are known to be on.

use flowpipe_plugin::puzzle::Node;

use crate::network::Network;

/// Two colours joined, or a ring closed.
pub struct Misfit;

/// The pieces, each known by its two ends.
pub struct Fragments {
    /// The other end, at the ends of a fragment. A node by itself is both ends of one.
    mate: Vec<Node>,
    /// The colour of a fragment, at its ends.
    tint: Vec<Option<u16>>,
}

impl Fragments {
    /// Every node by itself.
    pub fn new(network: &Network) -> Self {
        Self {
            mate: (0..network.len()).collect(),
            tint: (0..network.len())
                .map(|node| network.terminal(node))
                .collect(),
        }
    }

    /// Joins two ends. Gives the ends of the new fragment.
    pub fn join(&mut self, a: Node, b: Node) -> Result<[Node; 2], Misfit> {
        if self.mate[a] == b || self.tints_differ(a, b) {
            return Err(Misfit);
        }
        let tint = self.tint[a].or(self.tint[b]);
        let ends = [self.mate[a], self.mate[b]];
        for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            self.mate[end] = other;
            self.tint[end] = tint;
        }
        Ok(ends)
    }

    /// Whether an edge between two ends would close a ring or join two colours.
    pub fn cannot_join(&self, a: Node, b: Node) -> bool {
        self.mate[a] == b || self.tints_differ(a, b)
    }

    fn tints_differ(&self, a: Node, b: Node) -> bool {
        matches!((self.tint[a], self.tint[b]), (Some(a), Some(b)) if a != b)
    }
}

/// Nodes known to be of one flow: joined by edges, or through the two terminals of a colour.
pub struct Flows {
    parent: Vec<Node>,
    size: Vec<u32>,
    /// The next node of the same flow, around.
    next: Vec<Node>,
}

impl Flows {
    /// Every node by itself.
    pub fn new(nodes: usize) -> Self {
        Self {
            parent: (0..nodes).collect(),
            size: vec![1; nodes],
            next: (0..nodes).collect(),
        }
    }

    /// A node that represents the whole flow.
    pub fn root(&mut self, mut node: Node) -> Node {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    /// Makes one flow of two, unless they are one already. Gives the nodes of the smaller one.
    pub fn unite(&mut self, a: Node, b: Node) -> Vec<Node> {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return Vec::new();
        }
        let (small, large) = if self.size[a] < self.size[b] {
            (a, b)
        } else {
            (b, a)
        };
        let mut members = vec![small];
        let mut node = self.next[small];
        while node != small {
            members.push(node);
            node = self.next[node];
        }
        self.parent[small] = large;
        self.size[large] += self.size[small];
        self.next.swap(small, large);
        members
    }
}
