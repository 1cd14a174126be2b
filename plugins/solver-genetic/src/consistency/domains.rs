//! What is left for each node.

use flowpipe_plugin::puzzle::Node;

use crate::network::{Flow, Flows, NONE, Network, Slot, Way};

/// The values left for each node: by way, the flows that may take it.
#[derive(Debug, PartialEq, Eq)]
pub struct Domains {
    /// The ways of node `n`: `first[n]..first[n + 1]`.
    first: Vec<usize>,
    ways: Vec<Way>,
    flows: Vec<Flows>,
}

impl Clone for Domains {
    fn clone(&self) -> Self {
        Self {
            first: self.first.clone(),
            ways: self.ways.clone(),
            flows: self.flows.clone(),
        }
    }

    /// Takes over domains of the same network, without touching memory that does not change.
    fn clone_from(&mut self, source: &Self) {
        self.flows.clone_from(&source.flows);
    }
}

impl Domains {
    /// All that the rules allow at first sight.
    pub fn new(network: &Network) -> Self {
        let any: Flows = (1 << network.flows()) - 1;
        let mut domains = Self {
            first: Vec::with_capacity(network.len() + 1),
            ways: Vec::new(),
            flows: Vec::new(),
        };
        for (node, ways) in network.ways.iter().enumerate() {
            domains.first.push(domains.ways.len());
            for &way in ways {
                domains.ways.push(way);
                domains.flows.push(match network.terminal[node] {
                    Some(flow) => 1 << flow,
                    None if way.slots().next().is_none() => NONE,
                    None => any,
                });
            }
        }
        domains.first.push(domains.ways.len());
        domains
    }

    /// The ways of a node with the flows that may take each.
    pub fn values(&self, node: Node) -> impl Iterator<Item = (Way, Flows)> {
        let range = self.first[node]..self.first[node + 1];
        let flows = self.flows[range.clone()].iter().copied();
        self.ways[range].iter().copied().zip(flows)
    }

    /// Makes each way's flows fewer. Whether something changed.
    pub fn retain(&mut self, node: Node, left: impl Fn(Way, Flows) -> Flows) -> bool {
        let mut changed = false;
        for index in self.first[node]..self.first[node + 1] {
            let before = self.flows[index];
            let after = before & left(self.ways[index], before);
            self.flows[index] = after;
            changed |= after != before;
        }
        changed
    }

    /// The flows that may pass a node at all, and [`NONE`] where it may stay empty.
    pub fn flows(&self, node: Node) -> Flows {
        self.values(node).fold(0, |all, (_, flows)| all | flows)
    }

    /// The flows that may leave a node by a slot.
    pub fn through(&self, node: Node, slot: Slot) -> Flows {
        self.values(node)
            .filter(|(way, _)| way.joins(slot))
            .fold(0, |all, (_, flows)| all | flows)
    }

    /// Whether a node has no value left.
    pub fn is_empty(&self, node: Node) -> bool {
        self.flows(node) == 0
    }

    /// Whether a flow that came into a node by a slot (`None`: it begins there) can go on by this way.
    pub fn allow(&self, node: Node, way: Way, flow: Flow) -> bool {
        self.values(node)
            .any(|(other, flows)| other == way && flows >> flow & 1 == 1)
    }

    /// The ways that a flow has which came into a node by a slot (`None`: it begins there).
    pub fn ways(&self, node: Node, came: Option<Slot>, flow: Flow) -> impl Iterator<Item = Way> {
        self.values(node)
            .filter(move |(way, flows)| {
                flows >> flow & 1 == 1 && came.is_none_or(|slot| way.joins(slot))
            })
            .map(|(way, _)| way)
    }

    /// The way of such a flow, if there is just one.
    pub fn only_way(&self, node: Node, came: Option<Slot>, flow: Flow) -> Option<Way> {
        let mut ways = self.ways(node, came, flow);
        ways.next().filter(|_| ways.next().is_none())
    }

    /// Leaves one value.
    pub fn fix(&mut self, node: Node, way: Way, flow: Flow) {
        self.retain(node, |other, _| if other == way { 1 << flow } else { 0 });
    }

    /// Takes one value away.
    pub fn forbid(&mut self, node: Node, way: Way, flow: Flow) {
        self.retain(node, |other, flows| {
            if other == way {
                flows & !(1 << flow)
            } else {
                flows
            }
        });
    }

    /// Whether every node has one value left.
    pub fn are_decided(&self, network: &Network) -> bool {
        (0..network.len()).all(|node| {
            let count = self.values(node).map(|(_, flows)| flows.count_ones());
            count.sum::<u32>() == 1
        })
    }
}
