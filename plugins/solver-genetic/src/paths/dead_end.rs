//! Whether a path leaves something behind that no other flow can mend, as published: a colour that
//! is blocked, or cells that can't be filled.

use flowpipe_plugin::puzzle::Node;

use super::passages::Passages;
use crate::consistency::Domains;
use crate::network::{Flow, NONE, Network};

/// Whether no solution within the domains can have this path. `false` proves nothing.
pub fn is_dead_end(
    network: &Network,
    domains: &Domains,
    passages: &Passages,
    flow: Flow,
    path: &[Node],
) -> bool {
    let mut taken = vec![false; network.len()];
    path.iter().for_each(|&node| taken[node] = true);
    let mut fillable = taken.clone();
    for other in (0..network.flows()).filter(|&other| other != flow) {
        let [start, end] = network.ends[other];
        let reached = passages.flood(network, other, start, &taken);
        if !reached[end] {
            return true;
        }
        for (fillable, reached) in fillable.iter_mut().zip(reached) {
            *fillable |= reached;
        }
    }
    let isolated = |node: Node| {
        let ways_in = network.beside[node]
            .iter()
            .filter(|beside| !taken[beside.node]);
        let needed = 2 - usize::from(network.terminal[node].is_some());
        !fillable[node] || (!taken[node] && ways_in.count() < needed)
    };
    // A cell that only this flow could cover is isolated too; a cell that may stay empty never is.
    (0..network.len()).any(|node| domains.flows(node) & NONE == 0 && isolated(node))
}
