//! Clauses against what the encoding let through though the rules do not.

use flowpipe_puzzle::Node;

use crate::decode::{Decoded, Path};
use crate::literal::Literal;
use crate::network::Network;

/// Clauses that keep every solution and break this choice of edges. None: it is a solution.
pub fn cuts(network: &Network, edges: &[Literal], decoded: &Decoded) -> Vec<Vec<Literal>> {
    let mut cuts = Cuts {
        network,
        edges,
        inside: vec![false; network.len()],
        at: vec![0; network.len()],
        clauses: Vec::new(),
    };
    if network.rules.cover {
        // Where cells may stay empty, a ring is simply not drawn.
        for ring in &decoded.rings {
            cuts.leave(&ring.nodes);
        }
    }
    for path in &decoded.paths {
        cuts.wrong_ends(path);
        if !network.rules.touch {
            cuts.touching(path);
        }
    }
    cuts.clauses
}

struct Cuts<'a> {
    network: &'a Network,
    edges: &'a [Literal],
    /// Scratch: nodes of a set.
    inside: Vec<bool>,
    /// Scratch: places of nodes on a path.
    at: Vec<usize>,
    clauses: Vec<Vec<Literal>>,
}

impl Cuts<'_> {
    /// Some flow must lead out of these nodes.
    fn leave(&mut self, nodes: &[Node]) {
        for &node in nodes {
            self.inside[node] = true;
        }
        let clause = nodes
            .iter()
            .flat_map(|&node| &self.network.ways[node])
            .filter(|way| !self.inside[way.node])
            .map(|way| self.edges[way.edge])
            .collect();
        self.clauses.push(clause);
        for &node in nodes {
            self.inside[node] = false;
        }
    }

    /// A path between terminals of two colours.
    fn wrong_ends(&mut self, path: &Path) {
        let ends = [path.nodes.first(), path.nodes.last()];
        let [first, last] = ends.map(|end| end.and_then(|&node| self.network.terminal[node]));
        if first != last {
            self.clauses.push(self.break_up(path, 0, path.edges.len()));
        }
    }

    /// A path that comes back beside itself: the part between the two neighbours, if no shorter such
    /// part lies within.
    fn touching(&mut self, path: &Path) {
        for (at, &node) in path.nodes.iter().enumerate() {
            self.at[node] = at;
            self.inside[node] = true;
        }
        let mut nearest = path.nodes.len();
        for (from, &node) in path.nodes.iter().enumerate().rev() {
            let ways = self.network.ways[node].iter();
            let beside = ways
                .filter(|way| self.inside[way.node])
                .map(|way| self.at[way.node]);
            if let Some(to) = beside.filter(|&to| to > from + 1 && to < nearest).min() {
                nearest = to;
                self.clauses.push(self.break_up(path, from, to));
            }
        }
        for &node in &path.nodes {
            self.inside[node] = false;
        }
    }

    /// Not all of these edges of a path.
    fn break_up(&self, path: &Path, from: usize, to: usize) -> Vec<Literal> {
        path.edges[from..to]
            .iter()
            .map(|&edge| !self.edges[edge])
            .collect()
    }
}
