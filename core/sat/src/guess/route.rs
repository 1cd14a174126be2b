//! Paths that keep out of each other's way, by negotiation.
//!
//! Every flow takes its cheapest path, even where another one lies; then nodes that several flows want become
//! dearer, and those flows go again, until none share a node. Source: McMurchie and Ebeling 1995, "PathFinder: A
//! Negotiation-Based Performance-Driven Router for FPGAs".
//!
//! A cheapest path has no short cut, so no flow touches itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use flowpipe_puzzle::{Colour, Node};

use crate::guess::random::Random;
use crate::network::{Edge, Network};

/// So often the flows that are in each other's way go again.
const ROUNDS: u64 = 100;

/// A path for each pair of terminals, none through a node of another. `None`: not found. Some nodes cost up to
/// `detours` times as much as others, at random.
pub fn route(
    network: &Network,
    detours: usize,
    random: &mut Random,
    cancelled: &dyn Fn() -> bool,
) -> Option<Vec<Vec<Node>>> {
    let mut by_colour: BTreeMap<Colour, Vec<Node>> = BTreeMap::new();
    for (node, colour) in network.terminal.iter().enumerate() {
        if let Some(colour) = colour {
            by_colour.entry(*colour).or_default().push(node);
        }
    }
    let mut router = Router::new(network);
    router.make_uneven(detours, random);
    let mut groups: Vec<Group> = by_colour
        .into_values()
        .map(|terminals| Group {
            terminals,
            paths: Vec::new(),
        })
        .collect();
    for round in 0..ROUNDS {
        router.pressure = round;
        let mut in_the_way = false;
        for group in &mut groups {
            let crossed = |node: &Node| router.taken[*node] > 1;
            if round > 0 && !group.paths.iter().flatten().any(crossed) {
                continue;
            }
            in_the_way = true;
            if cancelled() {
                return None;
            }
            router.give_up(group);
            router.connect(group, round as usize)?;
        }
        if !in_the_way {
            return Some(groups.into_iter().flat_map(|group| group.paths).collect());
        }
        for (wear, &taken) in router.wear.iter_mut().zip(&router.taken) {
            *wear += taken.saturating_sub(1);
        }
    }
    None
}

/// The flows of one colour.
struct Group {
    terminals: Vec<Node>,
    paths: Vec<Vec<Node>>,
}

/// Looks for cheap paths.
pub struct Router<'a> {
    network: &'a Network,
    /// What a node costs by itself.
    price: Vec<u64>,
    /// How many paths go through a node.
    taken: Vec<u64>,
    /// How often too many wanted a node.
    wear: Vec<u64>,
    /// How much it costs to be in the way of another.
    pressure: u64,
    /// No path may be in the way of another.
    strict: bool,
    /// An edge that no path may take.
    closed: Option<Edge>,
    /// Scratch: the cost of the cheapest way to a node.
    cost: Vec<u64>,
    /// Scratch: where that comes from.
    from: Vec<Option<Node>>,
}

impl<'a> Router<'a> {
    /// On an empty board. Paths may cross at first.
    pub fn new(network: &'a Network) -> Self {
        Self {
            network,
            price: vec![2; network.len()],
            taken: vec![0; network.len()],
            wear: vec![0; network.len()],
            pressure: 0,
            strict: false,
            closed: None,
            cost: vec![u64::MAX; network.len()],
            from: vec![None; network.len()],
        }
    }

    /// Among paths that stand, without crossing them.
    pub fn among<'p>(network: &'a Network, paths: impl IntoIterator<Item = &'p [Node]>) -> Self {
        let mut router = Self::new(network);
        router.strict = true;
        for path in paths {
            router.set(path, true);
        }
        router
    }

    /// Closes an edge, or none.
    pub fn close(&mut self, edge: Option<Edge>) {
        self.closed = edge;
    }

    /// Gives each node a price of its own.
    pub fn make_uneven(&mut self, detours: usize, random: &mut Random) {
        for price in &mut self.price {
            *price = 2 + random.below(2 * detours - 1) as u64;
        }
    }

    /// Puts a path on the board, or takes it away.
    pub fn set(&mut self, path: &[Node], is_taken: bool) {
        for &node in path {
            self.taken[node] = u64::from(is_taken);
        }
    }

    fn give_up(&mut self, group: &mut Group) {
        for node in group.paths.drain(..).flatten() {
            self.taken[node] -= 1;
        }
    }

    /// Joins the terminals of a colour, each to the one that is cheapest to reach. Which may choose first depends on
    /// the round.
    fn connect(&mut self, group: &mut Group, round: usize) -> Option<()> {
        let mut open = group.terminals.clone();
        let turn = round % open.len();
        open.rotate_left(turn);
        while let Some(start) = open.pop() {
            let path = self.cheapest(start, &open)?;
            open.retain(|terminal| path.last() != Some(terminal));
            for &node in &path {
                self.taken[node] += 1;
            }
            group.paths.push(path);
        }
        Some(())
    }

    /// The cheapest path to one of the ends.
    pub fn cheapest(&mut self, start: Node, ends: &[Node]) -> Option<Vec<Node>> {
        self.cost.fill(u64::MAX);
        self.cost[start] = 0;
        self.from[start] = None;
        let mut open = BinaryHeap::from([(Reverse(0), start)]);
        while let Some((Reverse(cost), here)) = open.pop() {
            if cost > self.cost[here] {
                continue;
            }
            if ends.contains(&here) {
                let back = std::iter::successors(Some(here), |&node| self.from[node]);
                return Some(back.collect::<Vec<_>>().into_iter().rev().collect());
            }
            for way in &self.network.ways[here] {
                let there = way.node;
                let foreign = self.network.terminal[there].is_some() && !ends.contains(&there);
                let taken = self.strict && self.taken[there] > 0;
                if foreign || taken || self.closed == Some(way.edge) {
                    continue;
                }
                let price = (self.price[there] + self.wear[there])
                    * (1 + self.taken[there] * self.pressure);
                if cost + price < self.cost[there] {
                    self.cost[there] = cost + price;
                    self.from[there] = Some(here);
                    open.push((Reverse(cost + price), there));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::puzzle;

    #[test]
    fn flows_make_way_for_each_other() {
        // The shortest paths of A and B cross; A must go around one of B's terminals.
        let network = Network::new(&puzzle(".....\n..B..\n.A.A.\n..B..\n....."));
        let paths = route(&network, 1, &mut Random::new(0), &|| false).unwrap();
        let mut nodes = paths.concat();
        nodes.sort_unstable();
        let before = nodes.len();
        nodes.dedup();
        assert_eq!((paths.len(), nodes.len()), (2, before));
    }

    #[test]
    fn gives_up_where_there_is_no_room() {
        let network = Network::new(&puzzle(".B.\nA.A\n.B."));
        assert_eq!(route(&network, 1, &mut Random::new(0), &|| false), None);
    }
}
