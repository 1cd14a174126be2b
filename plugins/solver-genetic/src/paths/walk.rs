//! New paths, as published: random walks of legal steps, without dead ends.

use std::rc::Rc;

use fastrand::Rng;

use super::Path;
use super::dead_end::is_dead_end;
use super::passages::Passages;
use crate::consistency::Domains;
use crate::network::{Flow, Network, Slot};

/// How often a walk is restarted before a flow goes without a path.
const TRIES: usize = 8;

/// Walks at random within domains.
pub struct Walker<'a> {
    network: &'a Network,
    domains: &'a Domains,
    passages: Passages,
}

impl<'a> Walker<'a> {
    /// A walker within domains.
    pub fn new(network: &'a Network, domains: &'a Domains) -> Self {
        Self {
            network,
            domains,
            passages: Passages::new(network, domains),
        }
    }

    /// A random path of a flow, or none, where the tries led nowhere.
    ///
    /// A step is legal when it enters no other terminal, does not touch the path beside (unless the
    /// rules allow it), and the flow's other terminal can still be reached. Once cancelled, no further
    /// try is made.
    pub fn path(&self, flow: Flow, rng: &mut Rng, cancelled: &dyn Fn() -> bool) -> Option<Path> {
        let (network, domains) = (self.network, self.domains);
        (0..TRIES)
            .take_while(|_| !cancelled())
            .filter_map(|_| self.walk(flow, rng))
            .find(|path| !is_dead_end(network, domains, &self.passages, flow, path))
    }

    fn walk(&self, flow: Flow, rng: &mut Rng) -> Option<Path> {
        let network = self.network;
        let [start, end] = network.ends[flow];
        let mut path = vec![start];
        // Nodes that the path has passed, or passed beside where flows must not touch themselves.
        let mut closed = vec![false; network.len()];
        closed[start] = true;
        let mut came: Option<Slot> = None;
        let mut node = start;
        while node != end {
            let beside = &network.beside[node];
            let mut onward: Vec<Slot> = self
                .domains
                .ways(node, came, flow)
                .filter_map(|way| way.onward(came))
                .filter(|&slot| !closed[beside[slot].node])
                .collect();
            // Where the second terminal lies beside, the path ends there: going on would touch it.
            let ends = |slot: &Slot| beside[*slot].node == end;
            if onward.len() > 1 && !network.rules.touch && onward.iter().any(ends) {
                onward.retain(ends);
            } else if onward.len() > 1 {
                let reached = self.passages.flood(network, flow, end, &closed);
                onward.retain(|&slot| reached[beside[slot].node]);
            }
            let slot = rng.choice(onward)?;
            if !network.rules.touch {
                beside.iter().for_each(|beside| closed[beside.node] = true);
            }
            (node, came) = (beside[slot].node, Some(beside[slot].back));
            closed[node] = true;
            path.push(node);
        }
        Some(Rc::from(path))
    }
}
