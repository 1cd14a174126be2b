//! Draws a whole board into paths that already join their terminals.
//!
//! A node beside a path that is not covered is a gap. Gaps are taken into the path one or two at a time, where they lie
//! beside one of its edges. Where none can be taken in, a corner of a path is folded over: it covers
//! one gap and leaves another, so that gaps wander until two of them meet. Now and then a path lets two nodes go again.
//! On boards that can be shaded like a chessboard gaps of both shades are equal in number (else there is no
//! solution), so they can all meet.

use flowpipe_puzzle::Node;

use crate::guess::random::Random;
use crate::network::Network;

/// So many moves for each node, before it gives up.
const MOVES: usize = 100;
/// One move in so many lets two nodes go.
const LET_GO: usize = 24;

/// The paths with as much of the board drawn into them as came about, and how many gaps are left. Paths may
/// touch themselves and each other.
pub fn fill(
    network: &Network,
    paths: &[Vec<Node>],
    random: &mut Random,
    cancelled: &dyn Fn() -> bool,
) -> (Vec<Vec<Node>>, usize) {
    let mut board = Filling::new(network, paths);
    board.fill(random, cancelled);
    (board.paths(paths), board.gaps.len())
}

/// Paths that cover the board in another shape, where that is possible: some nodes are released, then the gaps are taken
/// in again.
pub fn refill(
    network: &Network,
    paths: &[Vec<Node>],
    random: &mut Random,
    cancelled: &dyn Fn() -> bool,
) -> (Vec<Vec<Node>>, usize) {
    let mut board = Filling::new(network, paths);
    for _ in 0..network.len() {
        board.let_go_beside(random.below(network.len()), random);
        if board.gaps.len() > 4 {
            break;
        }
    }
    board.fill(random, cancelled);
    (board.paths(paths), board.gaps.len())
}

struct Filling<'a> {
    network: &'a Network,
    /// What each node is joined to. Terminals have one, gaps none.
    joined: Vec<[Option<Node>; 2]>,
    gaps: Vec<Node>,
    /// The index of a node in `gaps`.
    place: Vec<usize>,
}

impl<'a> Filling<'a> {
    fn new(network: &'a Network, paths: &[Vec<Node>]) -> Self {
        let mut filling = Self {
            network,
            joined: vec![[None; 2]; network.len()],
            gaps: Vec::new(),
            place: vec![0; network.len()],
        };
        let mut covered = vec![false; network.len()];
        for path in paths {
            for &node in path {
                covered[node] = true;
            }
            for (&a, &b) in path.iter().zip(path.iter().skip(1)) {
                filling.join(a, b);
            }
        }
        for node in (0..network.len()).filter(|&node| !covered[node]) {
            filling.open(node);
        }
        filling
    }

    fn fill(&mut self, random: &mut Random, cancelled: &dyn Fn() -> bool) {
        for step in 0..self.network.len() * MOVES {
            if self.gaps.is_empty() || (step % 1024 == 0 && cancelled()) {
                break;
            }
            let gap = self.gaps[random.below(self.gaps.len())];
            if random.below(LET_GO) == 0 {
                self.let_go_beside(gap, random);
            } else if !self.take_in(gap, random) {
                self.fold_over(gap, random);
            }
        }
    }

    fn is_gap(&self, node: Node) -> bool {
        self.joined[node] == [None; 2]
    }

    fn join(&mut self, a: Node, b: Node) {
        for (from, to) in [(a, b), (b, a)] {
            let free = usize::from(self.joined[from][0].is_some());
            self.joined[from][free] = Some(to);
        }
    }

    fn part(&mut self, a: Node, b: Node) {
        for (from, to) in [(a, b), (b, a)] {
            let other = self.joined[from]
                .into_iter()
                .flatten()
                .find(|&node| node != to);
            self.joined[from] = [other, None];
        }
    }

    fn open(&mut self, node: Node) {
        self.place[node] = self.gaps.len();
        self.gaps.push(node);
    }

    fn close(&mut self, node: Node) {
        let at = self.place[node];
        self.gaps.swap_remove(at);
        if let Some(&moved) = self.gaps.get(at) {
            self.place[moved] = at;
        }
    }

    /// Takes a gap, alone or with another one, into an edge beside it.
    fn take_in(&mut self, gap: Node, random: &mut Random) -> bool {
        let network = self.network;
        let ways = &network.ways[gap];
        let first = random.below(ways.len().max(1));
        for at in 0..ways.len() {
            let beside = ways[(first + at) % ways.len()].node;
            for across in self.joined[beside].into_iter().flatten() {
                let inner = if network.edge(gap, across).is_some() {
                    vec![gap]
                } else {
                    let between = network.between(gap, across);
                    let Some(second) = between.filter(|&node| self.is_gap(node)).last() else {
                        continue;
                    };
                    vec![gap, second]
                };
                self.part(beside, across);
                let mut last = beside;
                for node in inner {
                    self.close(node);
                    self.join(last, node);
                    last = node;
                }
                self.join(last, across);
                return true;
            }
        }
        false
    }

    /// Lets the gap change places with a corner of a path across from it.
    fn fold_over(&mut self, gap: Node, random: &mut Random) {
        let network = self.network;
        let ways = &network.ways[gap];
        let first = random.below(ways.len().max(1));
        for at in 0..ways.len() {
            let a = ways[(first + at) % ways.len()].node;
            let side = random.below(2);
            for side in [side, 1 - side] {
                let Some(corner) = self.joined[a][side] else {
                    continue;
                };
                let [Some(one), Some(two)] = self.joined[corner] else {
                    continue;
                };
                let b = if one == a { two } else { one };
                if network.edge(gap, b).is_none() {
                    continue;
                }
                self.part(a, corner);
                self.part(corner, b);
                self.close(gap);
                self.open(corner);
                self.join(a, gap);
                self.join(gap, b);
                return;
            }
        }
    }

    /// Cuts a path short beside a gap, where three or four of its nodes go around a triangle or square.
    fn let_go_beside(&mut self, gap: Node, random: &mut Random) {
        let network = self.network;
        let ways = &network.ways[gap];
        if ways.is_empty() {
            return;
        }
        let p = ways[random.below(ways.len())].node;
        let [Some(u), Some(q)] = self.joined[p] else {
            return;
        };
        let (u, q) = if random.below(2) == 0 { (u, q) } else { (q, u) };
        if network.edge(u, q).is_some() {
            self.part(u, p);
            self.part(p, q);
            self.open(p);
            self.join(u, q);
            return;
        }
        let [Some(one), Some(two)] = self.joined[q] else {
            return;
        };
        let v = if one == p { two } else { one };
        if network.edge(u, v).is_none() {
            return;
        }
        self.part(u, p);
        self.part(p, q);
        self.part(q, v);
        self.open(p);
        self.open(q);
        self.join(u, v);
    }

    /// The paths as they are now, from where they began.
    fn paths(&self, before: &[Vec<Node>]) -> Vec<Vec<Node>> {
        let starts = before.iter().filter_map(|path| path.first().copied());
        starts.map(|start| self.path(start)).collect()
    }

    fn path(&self, start: Node) -> Vec<Node> {
        let mut nodes = vec![start];
        let (mut before, mut here) = (None, start);
        while let Some(next) = self.joined[here]
            .into_iter()
            .flatten()
            .find(|&node| Some(node) != before)
        {
            nodes.push(next);
            (before, here) = (Some(here), next);
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guess::route::route;
    use crate::testing::samples::puzzle;

    #[test]
    fn covers_what_can_be_covered() {
        let text = "A.....\n......\n......\n......\n......\nA.....";
        let network = Network::new(&puzzle(text));
        let random = &mut Random::new(0);
        let paths = route(&network, 1, random, &|| false).unwrap();
        let (paths, gaps) = fill(&network, &paths, random, &|| false);
        let mut nodes = paths.concat();
        assert_eq!(gaps, 0);
        nodes.sort_unstable();
        assert_eq!(nodes, (0..network.len()).collect::<Vec<_>>());
    }
}
