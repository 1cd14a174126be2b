//! The edges that a solver chose, as paths between terminals and rings.

use flowpipe_puzzle::{Flow, Node, Puzzle, Solution};

use crate::network::{Edge, Network};

/// The result of a choice of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// A path from each terminal to another one, whatever that one's colour.
    pub paths: Vec<Path>,
    /// Rings that belong to no terminal. Their nodes go once around.
    pub rings: Vec<Path>,
}

/// Nodes in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The nodes, each a neighbour of the one before.
    pub nodes: Vec<Node>,
    /// The edges between them.
    pub edges: Vec<Edge>,
}

/// Paths as flows, each in the colour of its first terminal.
pub fn solution(puzzle: &Puzzle, network: &Network, paths: &[Path]) -> Solution {
    let flows = paths.iter().filter_map(|path| {
        let cells: Vec<_> = path.nodes.iter().map(|&node| network.cell[node]).collect();
        let colour = puzzle.terminal_at(*cells.first()?)?;
        Some(Flow { colour, cells })
    });
    Solution {
        flows: flows.collect(),
    }
    .canonical()
}

/// Follows the chosen edges from every terminal, then what is left. Every node must have the number
/// of chosen edges that the encoding asks for.
pub fn decode(network: &Network, chosen: &[bool]) -> Decoded {
    let mut seen = vec![false; network.len()];
    let terminals = (0..network.len()).filter(|&node| network.terminal[node].is_some());
    let mut paths = Vec::new();
    for start in terminals {
        if !seen[start] {
            paths.push(follow(network, chosen, start, &mut seen));
        }
    }
    let mut rings = Vec::new();
    for (edge, &(start, _)) in network.ends.iter().enumerate() {
        if chosen[edge] && !seen[start] {
            rings.push(follow(network, chosen, start, &mut seen));
        }
    }
    Decoded { paths, rings }
}

/// From `start` on along chosen edges, until there is no new node.
fn follow(network: &Network, chosen: &[bool], start: Node, seen: &mut [bool]) -> Path {
    let mut path = Path {
        nodes: vec![start],
        edges: Vec::new(),
    };
    let mut here = start;
    seen[start] = true;
    while let Some(way) = network.ways[here]
        .iter()
        .find(|way| chosen[way.edge] && !seen[way.node])
    {
        here = way.node;
        seen[here] = true;
        path.nodes.push(here);
        path.edges.push(way.edge);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::puzzle;

    #[test]
    fn flows_are_distinguished_from_rings() {
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
        let decoded = decode(&network, &chosen);
        let cells = vec![0, 5, 6, 7, 2];
        let flows = vec![Flow { colour: 0, cells }];
        assert_eq!(
            solution(&puzzle, &network, &decoded.paths),
            Solution { flows }
        );
        assert_eq!(decoded.paths[0].edges.len(), 4);
        assert_eq!(decoded.rings.len(), 1);
        let mut ring = decoded.rings[0].nodes.clone();
        ring.sort_unstable();
        assert_eq!(ring, vec![3, 4, 8, 9]);
    }
}
