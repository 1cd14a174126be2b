//! The drawn pipes, and which of them holds each node of the board.

use flowpipe_puzzle::{Colour, Node, Puzzle};

/// A pipe's place in [`Pipes`]. Each colour has one for each pair of its terminals.
pub(crate) type Slot = usize;

/// All pipes of a board. No node is twice in one of them, nor in two, except where one crosses another for good.
#[derive(Clone, Debug)]
pub(crate) struct Pipes {
    colours: Vec<Colour>,
    /// By slot, from the terminal that the pipe starts at; empty when nothing is drawn.
    nodes: Vec<Vec<Node>>,
    /// By node.
    owner: Vec<Option<Slot>>,
}

impl Pipes {
    pub(crate) fn new(puzzle: &Puzzle) -> Self {
        let mut colours: Vec<_> = puzzle.terminals().iter().map(|one| one.colour).collect();
        colours.sort_unstable();
        let colours: Vec<_> = colours.chunks(2).map(|pair| pair[0]).collect();
        let nodes = vec![Vec::new(); colours.len()];
        Self {
            colours,
            nodes,
            owner: vec![None; puzzle.board().graph().len()],
        }
    }

    pub(crate) fn slots(&self) -> std::ops::Range<Slot> {
        0..self.colours.len()
    }

    pub(crate) fn colour(&self, slot: Slot) -> Colour {
        self.colours[slot]
    }

    pub(crate) fn nodes(&self, slot: Slot) -> &[Node] {
        &self.nodes[slot]
    }

    /// All pipes as they are, by slot.
    pub(crate) fn all(&self) -> &[Vec<Node>] {
        &self.nodes
    }

    pub(crate) fn owner(&self, node: Node) -> Option<Slot> {
        self.owner[node]
    }

    /// How far from its start a node lies in its own pipe.
    pub(crate) fn position(&self, node: Node) -> Option<(Slot, usize)> {
        let slot = self.owner[node]?;
        Some((
            slot,
            self.nodes[slot].iter().position(|&other| other == node)?,
        ))
    }

    /// Adds a node to a pipe's end. The node must be free.
    pub(crate) fn push(&mut self, slot: Slot, node: Node) {
        debug_assert_eq!(self.owner[node], None, "a node belongs to one pipe");
        self.nodes[slot].push(node);
        self.owner[node] = Some(slot);
    }

    /// Adds a node to a pipe's end that another pipe holds, and holds on. Neither of the two may be shortened
    /// from then on.
    pub(crate) fn cross(&mut self, slot: Slot, node: Node) {
        debug_assert!(
            self.owner[node].is_some() && !self.nodes[slot].contains(&node),
            "a crossing has another pipe"
        );
        self.nodes[slot].push(node);
    }

    /// Keeps the first `len` nodes of a pipe.
    pub(crate) fn truncate(&mut self, slot: Slot, len: usize) {
        let keep = len.min(self.nodes[slot].len());
        for node in self.nodes[slot].drain(keep..) {
            self.owner[node] = None;
        }
    }

    /// Gives a cut pipe back as much of what it was as is free. Whether it grew.
    pub(crate) fn regrow(&mut self, slot: Slot, was: &[Node]) -> bool {
        let len = self.nodes[slot].len();
        for &node in was.get(len..).unwrap_or_default() {
            if self.owner[node].is_some() {
                break;
            }
            self.push(slot, node);
        }
        self.nodes[slot].len() > len
    }
}
