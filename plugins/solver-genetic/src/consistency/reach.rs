//! Where each flow can still get to from its terminals.

use flowpipe_plugin::puzzle::Node;

use super::domains::Domains;
use crate::network::{Flows, NONE, Network};

/// Scratch memory: all flows are spread at once, a bit each.
pub struct Reached {
    flows: Vec<Flows>,
    queue: Vec<Node>,
    queued: Vec<bool>,
}

impl Reached {
    /// For a network.
    pub fn new(network: &Network) -> Self {
        Self {
            flows: vec![0; network.len()],
            queue: Vec::new(),
            queued: vec![false; network.len()],
        }
    }

    /// Takes every flow from the nodes that its first terminal can't reach (from its other terminal
    /// too: no way is left there, when the two can't reach each other). Gives the nodes that changed.
    pub fn prune(&mut self, network: &Network, domains: &mut Domains) -> Vec<Node> {
        self.flows.fill(0);
        for (flow, &[start, _]) in network.ends.iter().enumerate() {
            self.flows[start] |= 1 << flow;
            self.queue.push(start);
            self.queued[start] = true;
        }
        while let Some(node) = self.queue.pop() {
            self.queued[node] = false;
            let here = self.flows[node];
            for (slot, beside) in network.beside[node].iter().enumerate() {
                let next = beside.node;
                if here & !self.flows[next] == 0 {
                    continue;
                }
                let new = here
                    & !self.flows[next]
                    & domains.through(node, slot)
                    & domains.through(next, beside.back);
                if new != 0 {
                    self.flows[next] |= new;
                    if !std::mem::replace(&mut self.queued[next], true) {
                        self.queue.push(next);
                    }
                }
            }
        }
        (0..network.len())
            .filter(|&node| {
                let reached = self.flows[node] | NONE;
                domains.retain(node, |_, _| reached)
            })
            .collect()
    }
}
