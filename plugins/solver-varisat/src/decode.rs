//! The edges that a solver chose, as flows and rings.

use flowpipe_plugin::puzzle::{Flow, Node, Puzzle, Solution};

use crate::network::{Edge, Network};

/// What a choice of edges comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// A flow from each pair of terminals, canonical.
    pub solution: Solution,
    /// The edges of these flows.
    pub edges: Vec<Edge>,
    /// The nodes of each ring that belongs to no terminal, in no order.
    pub rings: Vec<Vec<Node>>,
}

/// Follows the chosen edges from every terminal, then what is left. Every node must have the number
/// of chosen edges that the encoding asks for.
pub fn decode(puzzle: &Puzzle, network: &Network, chosen: &[bool]) -> Decoded {
    let mut seen = vec![false; network.len()];
    let mut flows = Vec::new();
    let mut edges = Vec::new();
    for terminal in puzzle.terminals() {
        let Some(&start) = puzzle.board().graph().nodes_of(terminal.cell).first() else {
            continue;
        };
        if seen[start] {
            continue;
        }
        let nodes = follow(network, chosen, start, &mut seen, &mut edges);
        let cells = nodes.into_iter().map(|node| network.cell[node]).collect();
        flows.push(Flow {
            colour: terminal.colour,
            cells,
        });
    }
    let mut rings = Vec::new();
    for (edge, &(start, _)) in network.ends.iter().enumerate() {
        if chosen[edge] && !seen[start] {
            rings.push(follow(network, chosen, start, &mut seen, &mut Vec::new()));
        }
    }
    Decoded {
        solution: Solution { flows }.canonical(),
        edges,
        rings,
    }
}

/// The nodes from `start` on along chosen edges, until there is no new one.
fn follow(
    network: &Network,
    chosen: &[bool],
    start: Node,
    seen: &mut [bool],
    edges: &mut Vec<Edge>,
) -> Vec<Node> {
    let mut nodes = vec![start];
    let mut here = start;
    seen[start] = true;
    while let Some(way) = network.ways[here]
        .iter()
        .find(|way| chosen[way.edge] && !seen[way.node])
    {
        here = way.node;
        seen[here] = true;
        nodes.push(here);
        edges.push(way.edge);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::puzzle;

    #[test]
    fn tells_flows_from_rings() {
        let puzzle = puzzle("A.A..\n.....");
        let network = Network::new(&puzzle);
        let mut chosen = vec![false; network.ends.len()];
        for (a, b) in [
            (0, 5),
            (5, 6),
            (6, 7),
            (7, 2),
            (3, 4),
            (4, 9),
            (9, 8),
            (8, 3),
        ] {
            chosen[network.edge(a, b).unwrap()] = true;
        }
        let decoded = decode(&puzzle, &network, &chosen);
        let cells = vec![0, 5, 6, 7, 2];
        let flows = vec![Flow { colour: 0, cells }];
        assert_eq!(decoded.solution, Solution { flows });
        assert_eq!(decoded.edges.len(), 4);
        let mut ring = decoded.rings.concat();
        ring.sort_unstable();
        assert_eq!((decoded.rings.len(), ring), (1, vec![3, 4, 8, 9]));
    }
}
