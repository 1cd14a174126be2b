//! Cheap checks that explain why a puzzle can't be solved, before any clause is written.
//!
//! Each is a proof: a puzzle that they refuse has no solution. Most puzzles without a solution pass
//! them and are refused by the solver, without words.

use std::collections::{BTreeMap, BTreeSet};

use flowpipe_puzzle::{Cell, Colour, Node, Puzzle, colour};

use crate::network::Network;

/// Why the puzzle has no solution, where that is easy to see.
pub fn unsolvable(puzzle: &Puzzle, network: &Network) -> Option<String> {
    let place = |node: Node| place(puzzle, network.cell[node]);
    let regions = Regions::new(network);
    if let Some((node, colour)) = cut_off(network, &regions) {
        let colour = colour::name(colour);
        return Some(format!(
            "colour {colour}: nothing leads from the terminal at {} to another of its colour",
            place(node)
        ));
    }
    if network.rules.cover {
        if let Some(node) = dead_end(network) {
            return Some(format!(
                "{}: a dead end, which no flow can pass",
                place(node)
            ));
        }
        if let Some(node) = regions.out_of_reach(network) {
            return Some(format!("{}: no terminal can reach it", place(node)));
        }
        return unbalanced(network);
    }
    None
}

/// Row and column from 1, as people count.
fn place(puzzle: &Puzzle, cell: Cell) -> String {
    let (row, col) = puzzle.board().row_col(cell);
    format!("row {}, column {}", row + 1, col + 1)
}

/// The parts into which terminals cut the board: nodes without a terminal that reach each other.
struct Regions {
    /// The region of each node, `None` for terminals.
    of: Vec<Option<usize>>,
    count: usize,
}

impl Regions {
    fn new(network: &Network) -> Self {
        let mut regions = Self {
            of: vec![None; network.len()],
            count: 0,
        };
        for start in 0..network.len() {
            if network.terminal[start].is_some() || regions.of[start].is_some() {
                continue;
            }
            regions.of[start] = Some(regions.count);
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                for way in &network.ways[node] {
                    if network.terminal[way.node].is_none() && regions.of[way.node].is_none() {
                        regions.of[way.node] = Some(regions.count);
                        open.push(way.node);
                    }
                }
            }
            regions.count += 1;
        }
        regions
    }

    /// The regions beside a node.
    fn beside(&self, network: &Network, node: Node) -> BTreeSet<usize> {
        network.ways[node]
            .iter()
            .filter_map(|way| self.of[way.node])
            .collect()
    }

    /// A node in a region beside which there is no terminal.
    fn out_of_reach(&self, network: &Network) -> Option<Node> {
        let mut reached = vec![false; self.count];
        for node in (0..network.len()).filter(|&node| network.terminal[node].is_some()) {
            for region in self.beside(network, node) {
                reached[region] = true;
            }
        }
        self.of
            .iter()
            .position(|region| region.is_some_and(|region| !reached[region]))
    }
}

/// A terminal that no other of its colour can be reached from.
fn cut_off(network: &Network, regions: &Regions) -> Option<(Node, Colour)> {
    let terminals = || {
        network
            .terminal
            .iter()
            .enumerate()
            .filter_map(|(node, colour)| Some((node, (*colour)?)))
    };
    let mut beside: BTreeMap<(usize, Colour), usize> = BTreeMap::new();
    for (node, colour) in terminals() {
        for region in regions.beside(network, node) {
            *beside.entry((region, colour)).or_default() += 1;
        }
    }
    let mut all = terminals();
    all.find(|&(node, colour)| {
        let neighbours = network.ways[node]
            .iter()
            .any(|way| network.terminal[way.node] == Some(colour));
        let meet = regions.beside(network, node).into_iter().any(|region| {
            beside
                .get(&(region, colour))
                .is_some_and(|&count| count > 1)
        });
        !neighbours && !meet
    })
}

/// A node without a terminal that can be entered, if at all, but not left.
fn dead_end(network: &Network) -> Option<Node> {
    (0..network.len())
        .find(|&node| network.terminal[node].is_none() && network.ways[node].len() < 2)
}

/// Parity. Where the nodes can be shaded like a chessboard, a flow covers as many dark nodes as
/// light ones, and one more of a shade for both ends on that shade.
fn unbalanced(network: &Network) -> Option<String> {
    let mut dark: Vec<Option<bool>> = vec![None; network.len()];
    for start in 0..network.len() {
        if dark[start].is_some() {
            continue;
        }
        let (mut nodes, mut terminals, mut two_shades) = ([0_usize; 2], [0_usize; 2], true);
        dark[start] = Some(false);
        let mut open = vec![(start, false)];
        while let Some((node, shade)) = open.pop() {
            nodes[usize::from(shade)] += 1;
            terminals[usize::from(shade)] += usize::from(network.terminal[node].is_some());
            for way in &network.ways[node] {
                match dark[way.node] {
                    None => {
                        dark[way.node] = Some(!shade);
                        open.push((way.node, !shade));
                    }
                    Some(other) => two_shades &= other != shade,
                }
            }
        }
        // nodes[0] - nodes[1] must be half of terminals[0] - terminals[1].
        if two_shades && 2 * nodes[0] + terminals[1] != 2 * nodes[1] + terminals[0] {
            let [light, other] = nodes;
            let [at_light, at_other] = terminals;
            return Some(format!(
                "shaded like a chessboard there are {light} cells of one shade and {other} of the \
                 other to cover, which flows between {at_light} terminals on the one and \
                 {at_other} on the other can't do"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Rules;

    use super::*;
    use crate::testing::samples::puzzle;

    #[test]
    fn reports_what_is_wrong() {
        let why = |text: &str, cover: bool| {
            let puzzle = puzzle(text).with_rules(Rules {
                cover,
                touch: false,
            });
            unsolvable(&puzzle, &Network::new(&puzzle))
        };
        assert_eq!(
            why("AB.\nB..\n..A", false).as_deref(),
            Some(
                "colour A: nothing leads from the terminal at row 1, column 1 to another of its colour"
            )
        );
        assert_eq!(
            why("A#.\nA..", true).as_deref(),
            Some("row 1, column 3: a dead end, which no flow can pass")
        );
        assert_eq!(
            why("A#..\nA#..", true).as_deref(),
            Some("row 1, column 3: no terminal can reach it")
        );
        assert!(why("AA.\n...\n...", true).is_some_and(|why| why.starts_with("shaded")));
        assert_eq!(why("AA.\n...\n...", false), None);
        assert_eq!(why("A..\n...\n..A", true), None);
    }
}
