//! The puzzle as nodes, edges and terminals.

use flowpipe_plugin::puzzle::{Cell, Colour, Node, Puzzle};

use crate::watch::{Stop, Watch};

/// Index of an edge in its [`Network`].
pub type Edge = usize;

/// An edge as one of its nodes sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The node at the other end.
    pub node: Node,
    /// The edge.
    pub edge: Edge,
}

/// What the rules ask for, in numbers.
pub struct Network {
    first_way: Vec<usize>,
    ways: Vec<Way>,
    edges: Vec<[Node; 2]>,
    /// By node: which of [`Network::colours`] its terminal has.
    terminal: Vec<Option<u16>>,
    /// The colours in use.
    pub colours: Vec<Colour>,
    /// By colour: whether it has two terminals only.
    pub single_pair: Vec<bool>,
    /// By node.
    pub cells: Vec<Cell>,
    /// Whether every node has to be covered.
    pub cover: bool,
    /// Whether a flow may touch itself.
    pub touch: bool,
}

impl Network {
    /// The network of a puzzle.
    ///
    /// # Errors
    /// [`Stop::Cancelled`].
    pub fn new(puzzle: &Puzzle, watch: &Watch) -> Result<Self, Stop> {
        let graph = puzzle.board().graph();
        let colours = puzzle.colours();
        let mut first_way = Vec::with_capacity(graph.len() + 1);
        let mut ways: Vec<Way> = Vec::with_capacity(graph.len() * 4);
        let mut edges = Vec::with_capacity(graph.len() * 2);
        let mut terminal = Vec::with_capacity(graph.len());
        let mut cells = Vec::with_capacity(graph.len());
        let mut ends = vec![0; colours.len()];
        for node in 0..graph.len() {
            watch.tick()?;
            first_way.push(ways.len());
            for link in graph.links(node) {
                let known = (link.node < node)
                    .then(|| {
                        ways[first_way[link.node]..first_way[link.node + 1]]
                            .iter()
                            .find(|way| way.node == node)
                    })
                    .flatten();
                let edge = known.map_or(edges.len(), |way| way.edge);
                if known.is_none() {
                    edges.push([node, link.node]);
                }
                ways.push(Way {
                    node: link.node,
                    edge,
                });
            }
            let cell = graph.cell_of(node);
            let colour = puzzle
                .terminal_at(cell)
                .and_then(|colour| colours.binary_search(&colour).ok());
            if let Some(colour) = colour {
                ends[colour] += 1;
            }
            // A colour is a 16-bit number, so there are no more of them than that.
            terminal.push(colour.and_then(|colour| u16::try_from(colour).ok()));
            cells.push(cell);
        }
        first_way.push(ways.len());
        Ok(Self {
            first_way,
            ways,
            edges,
            terminal,
            colours,
            single_pair: ends.into_iter().map(|ends| ends == 2).collect(),
            cells,
            cover: puzzle.rules().cover,
            touch: puzzle.rules().touch,
        })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The two nodes of an edge.
    pub fn ends(&self, edge: Edge) -> [Node; 2] {
        self.edges[edge]
    }

    /// The edges of a node, at most six.
    pub fn ways(&self, node: Node) -> &[Way] {
        &self.ways[self.first_way[node]..self.first_way[node + 1]]
    }

    /// The colour of a node's terminal, as an index of [`Network::colours`].
    pub fn terminal(&self, node: Node) -> Option<u16> {
        self.terminal[node]
    }

    /// Whether an edge joins two nodes.
    pub fn joined(&self, a: Node, b: Node) -> bool {
        self.ways(a).iter().any(|way| way.node == b)
    }
}
