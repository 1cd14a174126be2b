//! A puzzle as the encoding sees it: nodes, edges between them, and a terminal here and there.

use flowpipe_puzzle::{Cell, Colour, Node, Puzzle, Rules};

/// Index of an edge in its [`Network`].
pub type Edge = usize;

/// One way out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The edge taken.
    pub edge: Edge,
    /// Where it leads.
    pub node: Node,
}

/// The nodes of a board's graph and the edges between them, each edge once.
///
/// Where a board wraps around after two cells, two links join the same two nodes. They are one edge
/// here: a flow that used both would come back to where it was.
#[derive(Clone, Debug)]
pub struct Network {
    /// Both ends of each edge, the smaller node first.
    pub ends: Vec<(Node, Node)>,
    /// The ways out of each node, by the node that they lead to.
    pub ways: Vec<Vec<Way>>,
    /// The colour of the terminal at a node, where there is one.
    pub terminal: Vec<Option<Colour>>,
    /// The cell of each node.
    pub cell: Vec<Cell>,
    /// The rules of the puzzle.
    pub rules: Rules,
}

impl Network {
    /// The network of a puzzle.
    pub fn new(puzzle: &Puzzle) -> Self {
        let graph = puzzle.board().graph();
        let mut ends = Vec::new();
        let mut ways = vec![Vec::new(); graph.len()];
        for node in 0..graph.len() {
            let mut nodes: Vec<Node> = graph.links(node).iter().map(|link| link.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for other in nodes.into_iter().filter(|&other| other > node) {
                let edge = ends.len();
                ends.push((node, other));
                ways[node].push(Way { edge, node: other });
                // Nodes come in ascending order, so these lists are ascending too.
                ways[other].push(Way { edge, node });
            }
        }
        let cell: Vec<Cell> = (0..graph.len()).map(|node| graph.cell_of(node)).collect();
        let terminal = cell.iter().map(|&cell| puzzle.terminal_at(cell)).collect();
        Self {
            ends,
            ways,
            terminal,
            cell,
            rules: puzzle.rules(),
        }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// The edge between two nodes, if they are neighbours.
    pub fn edge(&self, a: Node, b: Node) -> Option<Edge> {
        let ways = &self.ways[a];
        ways.binary_search_by_key(&b, |way| way.node)
            .ok()
            .map(|at| ways[at].edge)
    }

    /// The nodes that are neighbours of both.
    pub fn between(&self, a: Node, b: Node) -> impl Iterator<Item = Node> {
        let nodes = self.ways[a].iter().map(|way| way.node);
        nodes.filter(move |&node| self.edge(node, b).is_some())
    }

    /// The same under other rules.
    pub fn with_rules(&self, rules: Rules) -> Self {
        Self {
            rules,
            ..self.clone()
        }
    }

    /// Each ring of three neighbours once, as its edges.
    pub fn triangles(&self) -> Vec<[Edge; 3]> {
        let mut triangles = Vec::new();
        for (edge, &(a, b)) in self.ends.iter().enumerate() {
            for third in self.ways[b].iter().filter(|way| way.node > b) {
                if let Some(closing) = self.edge(a, third.node) {
                    triangles.push([edge, third.edge, closing]);
                }
            }
        }
        triangles
    }

    /// Each ring of four neighbours once (on squares: each unit square), as its edges.
    pub fn squares(&self) -> Vec<[Edge; 4]> {
        let mut squares = Vec::new();
        for (first, ways) in self.ways.iter().enumerate() {
            let ways: Vec<&Way> = ways.iter().filter(|way| way.node > first).collect();
            for (at, a) in ways.iter().enumerate() {
                for b in &ways[at + 1..] {
                    for across in self.ways[a.node].iter().filter(|way| way.node > first) {
                        if let Some(closing) = self.edge(across.node, b.node) {
                            squares.push([a.edge, across.edge, closing, b.edge]);
                        }
                    }
                }
            }
        }
        squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::puzzle;

    #[test]
    fn a_square_lattice_has_its_unit_squares() {
        let network = Network::new(&puzzle("A..\n...\n..A"));
        assert_eq!(network.ends.len(), 12);
        assert_eq!(network.squares().len(), 4);
        assert!(network.triangles().is_empty());
    }

    #[test]
    fn rings_are_rings() {
        let network = Network::new(&puzzle("A...\n....\n...A\n...."));
        for square in network.squares() {
            let mut nodes: Vec<Node> = square
                .iter()
                .flat_map(|&edge| [network.ends[edge].0, network.ends[edge].1])
                .collect();
            nodes.sort_unstable();
            assert!(nodes.chunks(2).all(|pair| pair[0] == pair[1]), "{nodes:?}");
            nodes.dedup();
            assert_eq!(nodes.len(), 4);
        }
    }
}
