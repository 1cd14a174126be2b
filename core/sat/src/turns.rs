//! The corner-chain lemma: which pairs of edges no flow can take through a node.
//!
//! On a board that is covered without any flow touching itself, take a turn from `a` through `v` to
//! `b` and a node `c` across, a neighbour of both. `c` can be joined to neither: the flow would
//! touch itself or close a ring. So `c` must be passed some other way, and on squares the only other
//! way is to turn like `v`: every turn lies on a diagonal of turns that ends at a terminal. The
//! same holds on every graph, so it is worked out for graphs: begin with all pairs, and take away
//! what no value of the nodes across allows, until nothing changes.
//!
//! Half of it holds where cells may stay empty, of the solutions that [`crate::shortest`] is after: there a node
//! across from a turn can be empty only if it has the greater number.

use std::collections::VecDeque;

use flowpipe_puzzle::Node;

use crate::network::{Edge, Network};

/// The pairs of edges that no flow takes through a node. Right only without touching, and where cells may stay empty only
/// of the shortest solutions. `None` when `cancelled`.
pub fn forbidden(network: &Network, cancelled: &dyn Fn() -> bool) -> Option<Vec<[Edge; 2]>> {
    let mut turns: Vec<Vec<Turn>> = (0..network.len()).map(|node| all(network, node)).collect();
    let mut queue: VecDeque<Node> = (0..network.len()).collect();
    let mut queued = vec![true; network.len()];
    let mut checks = 0;
    while let Some(node) = queue.pop_front() {
        checks += 1;
        if checks % 256 == 0 && cancelled() {
            return None;
        }
        queued[node] = false;
        let before = turns[node].len();
        let mut left = std::mem::take(&mut turns[node]);
        left.retain(|turn| possible(network, &turns, node, turn));
        let changed = left.len() < before;
        turns[node] = left;
        if changed {
            // Only a node across from a turn checks at this one: it is two steps away.
            for way in &network.ways[node] {
                for across in &network.ways[way.node] {
                    if !std::mem::replace(&mut queued[across.node], true) {
                        queue.push_back(across.node);
                    }
                }
            }
        }
    }
    let mut forbidden = Vec::new();
    for (node, left) in turns.iter().enumerate() {
        if network.terminal[node].is_none() {
            forbidden.extend(
                all(network, node)
                    .into_iter()
                    .filter(|turn| !left.contains(turn))
                    .map(|turn| turn.edges),
            );
        }
    }
    Some(forbidden)
}

/// A way through a node (the straight ones too).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    edges: [Edge; 2],
    nodes: [Node; 2],
}

/// Every pair of edges at a node, whatever the node holds.
fn all(network: &Network, node: Node) -> Vec<Turn> {
    let ways = &network.ways[node];
    let mut turns = Vec::new();
    for (at, a) in ways.iter().enumerate() {
        for b in &ways[at + 1..] {
            turns.push(Turn {
                edges: [a.edge, b.edge],
                nodes: [a.node, b.node],
            });
        }
    }
    turns
}

/// Whether all nodes across from a turn are compatible with it.
fn possible(network: &Network, turns: &[Vec<Turn>], node: Node, turn: &Turn) -> bool {
    let [a, b] = turn.nodes;
    if network.edge(a, b).is_some() {
        return false;
    }
    let elsewhere = |other: &Node| !turn.nodes.contains(other);
    network
        .between(a, b)
        .filter(|&across| across != node && (network.rules.cover || across < node))
        .all(|across| match network.terminal[across] {
            Some(_) => network.ways[across].iter().any(|way| elsewhere(&way.node)),
            None => turns[across]
                .iter()
                .any(|turn| turn.nodes.iter().all(elsewhere)),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::puzzle;

    #[test]
    fn turns_need_a_diagonal_to_a_terminal() {
        // Of the turns at row 3, column 3 only the one towards row 2, column 2 can be: that terminal
        // has ways out besides. The other terminal has none, and no diagonal else meets one.
        let network = Network::new(&puzzle("....\n.A..\n....\n...A"));
        let (north, west, east, south) = (6, 9, 11, 14);
        let pair = |a, b| {
            let mut edges = [network.edge(10, a).unwrap(), network.edge(10, b).unwrap()];
            edges.sort_unstable();
            edges
        };
        let at_10 = |edges: &[Edge; 2]| {
            edges
                .iter()
                .all(|&edge| network.ends[edge].0 == 10 || network.ends[edge].1 == 10)
        };
        let found: Vec<_> = forbidden(&network, &|| false)
            .unwrap()
            .into_iter()
            .filter(at_10)
            .collect();
        assert_eq!(
            found,
            [pair(north, east), pair(west, south), pair(east, south)]
        );
    }
}
