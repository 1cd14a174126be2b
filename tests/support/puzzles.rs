//! Small puzzles of every kind, and all their solutions by plain enumeration.

use std::collections::{BTreeSet, HashSet};

use fastrand::Rng;
use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{
    Board, Cell, Colour, Flow, Graph, Lattice, Node, Puzzle, Rules, Solution, Terminal, check,
};

/// A puzzle of at most 20 cells: squares or hexes, with or without warps, holes, bridges and walls,
/// several pairs of one colour, any rules. The same seed gives the same puzzle. Most have a solution
/// if the rules let cells stay empty; about half of the others.
#[must_use]
pub fn puzzle(seed: u64) -> Puzzle {
    let mut random = Rng::with_seed(seed);
    loop {
        if let Some(puzzle) = attempt(&mut random) {
            return puzzle;
        }
    }
}

fn attempt(random: &mut Rng) -> Option<Puzzle> {
    let mut description = Description {
        rows: random.usize(1..=4),
        cols: random.usize(2..=5),
        lattice: [Lattice::Square, Lattice::Hex][usize::from(random.u8(0..3) == 0)],
        warps: random.u8(0..4) == 0,
        ..Description::default()
    };
    let cells = description.rows * description.cols;
    let some = |random: &mut Rng, one_in: usize| -> Vec<Cell> {
        (0..cells)
            .filter(|_| random.usize(0..one_in) == 0)
            .collect()
    };
    if random.u8(0..3) == 0 {
        description.holes = some(random, 6);
    }
    if random.u8(0..3) == 0 {
        description.bridges = some(random, 8);
        let holes = &description.holes;
        description.bridges.retain(|cell| !holes.contains(cell));
    }
    if random.u8(0..3) == 0 {
        let open = Board::new(description.clone()).ok()?;
        for a in 0..cells {
            for b in a + 1..cells {
                if open.touch(a, b) && random.u8(0..6) == 0 {
                    description.walls.push((a, b));
                }
            }
        }
    }
    let board = Board::new(description.clone()).ok()?;
    let mut paths = paths(board.graph(), random);
    if random.bool() {
        // What the paths have left free does not exist: a puzzle that can be covered.
        let taken: BTreeSet<Cell> = paths
            .iter()
            .flatten()
            .map(|&it| board.graph().cell_of(it))
            .collect();
        let all = 0..cells;
        description.holes = all.filter(|cell| !taken.contains(cell)).collect();
        description.bridges.retain(|cell| taken.contains(cell));
    }
    let cell_paths = paths.iter_mut().map(|path| {
        (
            board.graph().cell_of(path[0]),
            board.graph().cell_of(path[path.len() - 1]),
        )
    });
    let pairs: Vec<(Cell, Cell)> = cell_paths.collect();
    let one_colour = random.u8(0..4) == 0;
    let mut terminals = Vec::new();
    for (at, &(from, to)) in pairs.iter().enumerate() {
        let colour = if one_colour { at / 2 } else { at } as Colour;
        terminals.extend([from, to].map(|cell| Terminal { cell, colour }));
    }
    let rules = Rules {
        cover: random.u8(0..3) > 0,
        touch: random.bool(),
    };
    Puzzle::new(Board::new(description).ok()?, terminals, rules).ok()
}

/// Random walks from node to free node, that end on no bridge.
fn paths(graph: &Graph, random: &mut Rng) -> Vec<Vec<Node>> {
    let plain = |node: Node| graph.nodes_of(graph.cell_of(node)).len() == 1;
    let mut free: BTreeSet<Node> = (0..graph.len()).collect();
    let mut paths = Vec::new();
    let mut starts: Vec<Node> = free.iter().copied().filter(|&node| plain(node)).collect();
    random.shuffle(&mut starts);
    for start in starts {
        if !free.remove(&start) {
            continue;
        }
        let mut path = vec![start];
        let length = random.usize(2..12);
        loop {
            let last = path[path.len() - 1];
            if path.len() >= length && plain(last) {
                break;
            }
            let ways: Vec<Node> = graph
                .links(last)
                .iter()
                .map(|link| link.node)
                .filter(|node| free.contains(node))
                .collect();
            let Some(&next) = random.choice(&ways) else {
                break;
            };
            free.remove(&next);
            path.push(next);
        }
        while path.last().is_some_and(|&last| !plain(last)) {
            free.extend(path.pop());
        }
        if path.len() > 1 {
            paths.push(path);
        }
    }
    paths
}

/// Every solution, in canonical form: joins each terminal in every way with another of its colour, one
/// after the other, and leaves the rules to the checker.
#[must_use]
pub fn solutions(puzzle: &Puzzle) -> HashSet<Solution> {
    let mut all = Enumeration {
        puzzle,
        taken: vec![false; puzzle.board().graph().len()],
        flows: Vec::new(),
        found: HashSet::new(),
    };
    all.next_flow();
    all.found
}

struct Enumeration<'a> {
    puzzle: &'a Puzzle,
    taken: Vec<bool>,
    flows: Vec<Flow>,
    found: HashSet<Solution>,
}

impl Enumeration<'_> {
    /// Begins at the first terminal that is still alone.
    fn next_flow(&mut self) {
        let graph = self.puzzle.board().graph();
        let alone = |terminal: &&Terminal| !self.taken[graph.nodes_of(terminal.cell)[0]];
        let Some(&Terminal { cell, colour }) = self.puzzle.terminals().iter().find(alone) else {
            let solution = Solution {
                flows: self.flows.clone(),
            };
            if check(self.puzzle, &solution).is_ok() {
                self.found.insert(solution.canonical());
            }
            return;
        };
        let node = graph.nodes_of(cell)[0];
        self.taken[node] = true;
        let cells = vec![cell];
        self.flows.push(Flow { colour, cells });
        self.grow(node, colour);
        self.flows.pop();
        self.taken[node] = false;
    }

    fn grow(&mut self, from: Node, colour: Colour) {
        let graph = self.puzzle.board().graph();
        let at = self.flows.len() - 1;
        for link in graph.links(from) {
            let cell = graph.cell_of(link.node);
            let terminal = self.puzzle.terminal_at(cell);
            if self.taken[link.node] || terminal.is_some_and(|it| it != colour) {
                continue;
            }
            self.taken[link.node] = true;
            self.flows[at].cells.push(cell);
            match terminal {
                Some(_) => self.next_flow(),
                None => self.grow(link.node, colour),
            }
            self.flows[at].cells.pop();
            self.taken[link.node] = false;
        }
    }
}
