//! Arc consistency: takes from every node the ways and colours that are compatible with no value of a neighbour.
//!
//! The variables are the nodes; a value is a way through the node together with the flow that takes
//! it. Two neighbours agree when both or neither use the edge between them, with one flow if they do,
//! and with two flows if they do not (unless flows may touch themselves).
//!
//! Where no flow touches itself, a turn also restricts the node across, which lies beside both
//! ends of the turn: that node can't belong to the same flow. From these arcs follows that every
//! turn lies on a diagonal of turns that ends at a terminal (the corner-chain lemma). And a flow can
//! only be where its terminals can still reach.
//!
//! Nothing is tried out here: what is taken away can be in no solution.

mod arcs;
mod domains;
mod reach;

use flowpipe_plugin::puzzle::Node;
use thiserror::Error;

use crate::network::{Flow, NONE, Network};
use arcs::Arc;
pub use domains::Domains;

/// Why nothing is left for a puzzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no way through node {node} is left")]
pub struct Contradiction {
    /// Where.
    pub node: Node,
}

/// How much is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Neighbours only.
    Neighbours,
    /// Nodes across from turns, and what a flow can reach, too.
    Full,
}

/// Makes domains arc consistent.
pub struct Propagator<'a> {
    network: &'a Network,
    strength: Strength,
    /// By node: what has to be examined again when its domain has changed.
    arcs: Vec<Vec<Arc>>,
    queue: Vec<Node>,
    queued: Vec<bool>,
    reached: reach::Reached,
}

impl<'a> Propagator<'a> {
    /// A propagator for any domains of a network.
    pub fn new(network: &'a Network, strength: Strength) -> Self {
        Self {
            network,
            strength,
            arcs: arcs::of(network, strength),
            queue: Vec::new(),
            queued: vec![false; network.len()],
            reached: reach::Reached::new(network),
        }
    }

    /// Examines all nodes.
    ///
    /// # Errors
    /// When there can be no solution within these domains, which are then of no more use.
    pub fn all(&mut self, domains: &mut Domains) -> Result<(), Contradiction> {
        if let Some(node) = (0..self.network.len()).find(|&node| domains.is_empty(node)) {
            return Err(Contradiction { node });
        }
        (0..self.network.len()).for_each(|node| self.enqueue(node));
        self.run(domains)
    }

    /// Examines what follows from a change of one node.
    ///
    /// # Errors
    /// As [`Propagator::all`].
    pub fn from(&mut self, node: Node, domains: &mut Domains) -> Result<(), Contradiction> {
        if domains.is_empty(node) {
            return Err(Contradiction { node });
        }
        self.enqueue(node);
        self.run(domains)
    }

    fn enqueue(&mut self, node: Node) {
        if !std::mem::replace(&mut self.queued[node], true) {
            self.queue.push(node);
        }
    }

    fn run(&mut self, domains: &mut Domains) -> Result<(), Contradiction> {
        let result = self.until_settled(domains);
        for node in self.queue.drain(..) {
            self.queued[node] = false;
        }
        result
    }

    fn until_settled(&mut self, domains: &mut Domains) -> Result<(), Contradiction> {
        loop {
            while let Some(node) = self.queue.pop() {
                self.queued[node] = false;
                for index in 0..self.arcs[node].len() {
                    let arc = self.arcs[node][index];
                    if arc.revise(self.network, node, domains) {
                        if domains.is_empty(arc.target()) {
                            return Err(Contradiction { node: arc.target() });
                        }
                        self.enqueue(arc.target());
                    }
                }
            }
            if self.strength == Strength::Neighbours {
                return Ok(());
            }
            for node in self.reached.prune(self.network, domains) {
                if domains.is_empty(node) {
                    return Err(Contradiction { node });
                }
                self.enqueue(node);
            }
            if self.queue.is_empty() {
                return Ok(());
            }
        }
    }
}

/// How many cells that are no terminals have one flow left for each of their nodes.
pub fn fixed_cells(network: &Network, domains: &Domains) -> usize {
    let mut open: Vec<_> = (0..network.len())
        .filter(|&node| network.terminal[node].is_none())
        .map(|node| {
            let flows = domains.flows(node);
            (
                network.cells[node],
                flows.count_ones() != 1 || flows == NONE,
            )
        })
        .collect();
    open.sort_unstable();
    let by_cell = open.chunk_by(|a, b| a.0 == b.0);
    by_cell
        .filter(|nodes| nodes.iter().all(|node| !node.1))
        .count()
}

/// The nodes of a flow from its first terminal on for as long as there is one way only. `true`: up to
/// its other terminal.
pub fn follow(network: &Network, domains: &Domains, flow: Flow) -> (Vec<Node>, bool) {
    let [start, end] = network.ends[flow];
    let mut path = vec![start];
    let mut came = None;
    let mut node = start;
    while let Some(way) = domains.only_way(node, came, flow) {
        let Some(slot) = way.onward(came) else { break };
        let next = network.beside[node][slot];
        if path.len() > network.len() {
            break;
        }
        node = next.node;
        came = Some(next.back);
        path.push(node);
        if node == end {
            return (path, true);
        }
    }
    (path, false)
}

#[cfg(test)]
mod tests;
