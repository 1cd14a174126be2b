//! What one node's values imply for another's.

use flowpipe_plugin::puzzle::Node;

use super::Strength;
use super::domains::Domains;
use crate::network::{Flows, NONE, Network, Slot, Way};

/// What is to be examined when a node's domain has changed.
#[derive(Clone, Copy, Debug)]
pub enum Arc {
    /// A neighbour.
    Beside {
        /// The neighbour.
        target: Node,
        /// The neighbour's slot at the changed node.
        slot: Slot,
        /// The changed node's slot at the neighbour.
        back: Slot,
    },
    /// The changed node may turn, and the target lies across.
    Across {
        /// The node across.
        target: Node,
        /// The turn.
        turn: Way,
        /// How the target would be joined to both ends of the turn.
        ends: Way,
    },
    /// The changed node lies across from a turn of the target.
    Turn {
        /// The node that may turn.
        target: Node,
        /// Its turn.
        turn: Way,
        /// How the changed node would be joined to both ends of the turn.
        ends: Way,
    },
}

/// The arcs out of each node.
pub fn of(network: &Network, strength: Strength) -> Vec<Vec<Arc>> {
    let mut arcs = vec![Vec::new(); network.len()];
    for (node, neighbours) in network.beside.iter().enumerate() {
        for (slot, beside) in neighbours.iter().enumerate() {
            arcs[node].push(Arc::Beside {
                target: beside.node,
                slot,
                back: beside.back,
            });
        }
    }
    if strength == Strength::Neighbours || network.rules.touch {
        return arcs;
    }
    for node in 0..network.len() {
        for &turn in &network.ways[node] {
            let slots: Vec<Slot> = turn.slots().collect();
            let &[first, second] = slots.as_slice() else {
                continue;
            };
            let [a, b] = [first, second].map(|slot| network.beside[node][slot].node);
            for across in network.beside[a].iter().map(|beside| beside.node) {
                let slots = (network.slot(across, a), network.slot(across, b));
                let (Some(to_a), Some(to_b), true) = (slots.0, slots.1, across != node) else {
                    continue;
                };
                let ends = Way::joining(&[to_a, to_b]);
                let target = across;
                arcs[node].push(Arc::Across { target, turn, ends });
                let target = node;
                arcs[across].push(Arc::Turn { target, turn, ends });
            }
        }
    }
    arcs
}

impl Arc {
    /// The node whose domain it may make smaller.
    pub fn target(self) -> Node {
        match self {
            Self::Beside { target, .. }
            | Self::Across { target, .. }
            | Self::Turn { target, .. } => target,
        }
    }

    /// Removes from the target what no value of the changed node allows. Returns whether something changed.
    pub fn revise(self, network: &Network, changed: Node, domains: &mut Domains) -> bool {
        match self {
            Self::Beside { target, slot, back } => {
                let (on, off) = split(domains, changed, |way| way.joins(slot));
                let apart = if network.rules.touch {
                    any(off)
                } else {
                    other_than(off)
                };
                domains.retain(target, |way, _| if way.joins(back) { on } else { apart })
            }
            Self::Across { target, turn, ends } => {
                let (turning, passing) = split(domains, changed, |way| way == turn);
                if turning == 0 || passing != 0 {
                    return false;
                }
                let apart = other_than(turning);
                domains.retain(target, |way, _| if way.meets(ends) { 0 } else { apart })
            }
            Self::Turn { target, turn, ends } => {
                let (_, elsewhere) = split(domains, changed, |way| way.meets(ends));
                let apart = other_than(elsewhere);
                domains.retain(
                    target,
                    |way, _| if way == turn { apart } else { Flows::MAX },
                )
            }
        }
    }
}

/// The flows of the ways that are chosen, and those of all others.
fn split(domains: &Domains, node: Node, chosen: impl Fn(Way) -> bool) -> (Flows, Flows) {
    let mut split = (0, 0);
    for (way, flows) in domains.values(node) {
        let side = if chosen(way) {
            &mut split.0
        } else {
            &mut split.1
        };
        *side |= flows;
    }
    split
}

/// All flows, if there is one at all over there.
fn any(there: Flows) -> Flows {
    if there == 0 { 0 } else { Flows::MAX }
}

/// The flows that differ from some flow over there. Two empty nodes get along.
fn other_than(there: Flows) -> Flows {
    match there.count_ones() {
        0 => 0,
        1 if there != NONE => !there,
        _ => Flows::MAX,
    }
}
