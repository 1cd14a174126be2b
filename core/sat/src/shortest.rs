//! What holds of the shortest solutions of a board that need not be covered.
//!
//! Where cells may stay empty, a puzzle with a solution has one with the fewest cells used, and
//! among those one with the smallest sum of node numbers. In it no flow touches itself (it would
//! cut the corner), and no flow goes around an empty node: where two nodes of a flow lie beside an
//! empty one, they are neighbours, or one step of the flow lies between them (else the way over the
//! empty node is shorter), and that one has a smaller number than the empty one (else the way over
//! the empty node, no longer, has a smaller sum; it touches nothing of its own flow, or the flow
//! could be cut shorter there). Looking for such solutions only leaves the solver far fewer to
//! choose from, and finds one whenever there is any.

use std::collections::BTreeMap;

use flowpipe_puzzle::Node;

use crate::clauses::{Clauses, Truth};
use crate::network::Network;
use crate::paint::Paints;

/// Leaves all solutions as above and no others. `None` when `cancelled`.
pub fn only_shortest(
    clauses: &mut Clauses,
    network: &Network,
    edges: &[Truth],
    used: &[Truth],
    paints: &Paints,
    cancelled: &dyn Fn() -> bool,
) -> Option<()> {
    let mut differ: BTreeMap<(Node, Node), Truth> = BTreeMap::new();
    for empty in (0..network.len()).filter(|&node| network.terminal[node].is_none()) {
        if empty % 64 == 0 && cancelled() {
            return None;
        }
        let ways = &network.ways[empty];
        for (at, a) in ways.iter().enumerate() {
            for b in &ways[at + 1..] {
                if network.edge(a.node, b.node).is_some() {
                    continue;
                }
                let differ = *differ.entry((a.node, b.node)).or_insert_with(|| {
                    let differ = clauses.unknown();
                    let excuses = [!differ, !used[a.node], !used[b.node]];
                    paints.differ_unless(clauses, &excuses, a.node, b.node);
                    differ
                });
                let mut some = vec![used[empty], differ];
                for between in network.between(a.node, b.node) {
                    if between > empty {
                        // Follows from the rest, but not by one step at a time.
                        if let [Some(one), Some(two)] =
                            [a.node, b.node].map(|beside| network.edge(between, beside))
                        {
                            clauses.any(&[!edges[one], !edges[two], used[empty]]);
                        }
                    }
                    if between >= empty {
                        continue;
                    }
                    let joined = clauses.unknown();
                    for beside in [a.node, b.node] {
                        if let Some(edge) = network.edge(between, beside) {
                            clauses.implies(joined, edges[edge]);
                        }
                    }
                    some.push(joined);
                }
                clauses.any(&some);
            }
        }
    }
    Some(())
}
