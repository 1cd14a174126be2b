//! The puzzle as the algorithm sees it: nodes, the ways through each, and one flow for each colour.

use flowpipe_plugin::puzzle::{Cell, Colour, Node, Puzzle, Rules};

/// A flow by its index among the puzzle's colours.
pub type Flow = usize;
/// A neighbour of a node by its index in [`Network::beside`].
pub type Slot = usize;
/// A set of flows, a bit each, and [`NONE`].
pub type Flows = u128;

/// The bit for "no flow passes here".
pub const NONE: Flows = 1 << MAX_FLOWS;
/// The most flows that a set can hold.
pub const MAX_FLOWS: usize = 127;

/// How a node may be passed: the slots of the neighbours that it is joined to, a bit each. One at a
/// terminal, two at any other node, none where the node stays empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(u8);

/// One neighbour of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The neighbour.
    pub node: Node,
    /// The slot of this node among the neighbour's own.
    pub back: Slot,
}

/// The nodes of a puzzle, what lies beside each and how each may be passed.
#[derive(Clone, Debug)]
pub struct Network {
    /// The neighbours of each node, each once, ascending.
    pub beside: Vec<Vec<Beside>>,
    /// The ways through each node that the rules allow at first sight.
    pub ways: Vec<Vec<Way>>,
    /// The flow of the terminal at a node, where there is one.
    pub terminal: Vec<Option<Flow>>,
    /// Both terminals of each flow.
    pub ends: Vec<[Node; 2]>,
    /// The colour of each flow.
    pub colours: Vec<Colour>,
    /// The cell of each node.
    pub cells: Vec<Cell>,
    /// The rules of the puzzle.
    pub rules: Rules,
}

impl Way {
    /// The way that joins some slots.
    pub fn joining(slots: &[Slot]) -> Self {
        Self(slots.iter().fold(0, |bits, slot| bits | 1 << slot))
    }

    /// Whether it joins this slot.
    pub fn joins(self, slot: Slot) -> bool {
        self.0 >> slot & 1 == 1
    }

    /// Whether it joins a slot that the other joins too.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The slots that it joins.
    pub fn slots(self) -> impl Iterator<Item = Slot> {
        (0..8).filter(move |&slot| self.joins(slot))
    }

    /// Where a flow goes on that came in by a slot: `None` at its end.
    pub fn onward(self, came: Option<Slot>) -> Option<Slot> {
        self.slots().find(|&slot| Some(slot) != came)
    }
}

impl Network {
    /// The network of a puzzle with one pair of each colour, at most [`MAX_FLOWS`] of them.
    pub fn new(puzzle: &Puzzle) -> Self {
        let graph = puzzle.board().graph();
        let neighbours: Vec<Vec<Node>> = (0..graph.len())
            .map(|node| {
                let mut nodes: Vec<Node> = graph.links(node).iter().map(|link| link.node).collect();
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            })
            .collect();
        let beside = neighbours.iter().enumerate().map(|(node, nodes)| {
            let back = |other: Node| neighbours[other].iter().position(|&back| back == node);
            // Every link is present from both ends, so that there always is a slot back.
            let with_back = |&other: &Node| back(other).map(|back| Beside { node: other, back });
            nodes.iter().filter_map(with_back).collect()
        });
        let cells: Vec<Cell> = (0..graph.len()).map(|node| graph.cell_of(node)).collect();
        let colours = puzzle.colours();
        let flow_of = |cell: &Cell| {
            let colour = puzzle.terminal_at(*cell)?;
            colours.binary_search(&colour).ok()
        };
        let terminal: Vec<Option<Flow>> = cells.iter().map(flow_of).collect();
        let ends = (0..colours.len()).map(|flow| {
            let mut of_flow = (0..cells.len()).filter(|&node| terminal[node] == Some(flow));
            let first = of_flow.next().unwrap_or_default();
            [first, of_flow.next().unwrap_or(first)]
        });
        let mut network = Self {
            beside: beside.collect(),
            ways: Vec::new(),
            ends: ends.collect(),
            terminal,
            colours,
            cells,
            rules: puzzle.rules(),
        };
        network.ways = (0..network.len())
            .map(|node| network.all_ways(node))
            .collect();
        network
    }

    fn all_ways(&self, node: Node) -> Vec<Way> {
        let slots = self.beside[node].len();
        if self.terminal[node].is_some() {
            return (0..slots).map(|slot| Way::joining(&[slot])).collect();
        }
        let mut ways = Vec::new();
        if !self.rules.cover {
            ways.push(Way::joining(&[]));
        }
        for first in 0..slots {
            for second in first + 1..slots {
                let [a, b] = [first, second].map(|slot| self.beside[node][slot].node);
                // Where two ends of a way are neighbours, the flow would touch itself.
                if self.rules.touch || !self.touch(a, b) {
                    ways.push(Way::joining(&[first, second]));
                }
            }
        }
        ways
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.beside.len()
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.ends.len()
    }

    /// Whether two nodes are neighbours.
    pub fn touch(&self, a: Node, b: Node) -> bool {
        self.beside[a].iter().any(|beside| beside.node == b)
    }

    /// The slot by which one node sees another, if they are neighbours.
    pub fn slot(&self, from: Node, to: Node) -> Option<Slot> {
        self.beside[from]
            .iter()
            .position(|beside| beside.node == to)
    }
}
