//! Which flows may pass between two neighbours, worked out once for domains that stay as they are.

use flowpipe_plugin::puzzle::Node;

use crate::consistency::Domains;
use crate::network::{Flow, Flows, Network};

/// By node and slot, the flows that may pass there.
pub struct Passages(Vec<Vec<Flows>>);

impl Passages {
    /// The passages that domains leave.
    pub fn new(network: &Network, domains: &Domains) -> Self {
        let of_node = |node: Node| {
            let beside = network.beside[node].iter().enumerate();
            beside
                .map(|(slot, next)| {
                    domains.through(node, slot) & domains.through(next.node, next.back)
                })
                .collect()
        };
        Self((0..network.len()).map(of_node).collect())
    }

    /// The nodes that a flow reaches from one, which counts itself, without those that are taken.
    pub fn flood(&self, network: &Network, flow: Flow, start: Node, taken: &[bool]) -> Vec<bool> {
        let mut reached = vec![false; network.len()];
        reached[start] = true;
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            for (beside, flows) in network.beside[node].iter().zip(&self.0[node]) {
                let next = beside.node;
                if flows >> flow & 1 == 1 && !taken[next] && !reached[next] {
                    reached[next] = true;
                    stack.push(next);
                }
            }
        }
        reached
    }
}
