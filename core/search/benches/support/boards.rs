//! Boards of our own for measuring: random tilings, split until they have one solution.

use flowpipe_puzzle::{Board, Cell, Colour, Flow, Puzzle, Rules, Solution, Terminal};
use flowpipe_search::{Ended, Limits, Search};

/// A generator of random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A puzzle and a solution of it, made of so many flows or, where that takes too long, more.
/// A flow that touches itself never occurs; flows have three cells or more.
pub fn tiling(board: &Board, flows: usize, random: &mut Random) -> (Puzzle, Solution) {
    let mut tiling = Tiling::new(board);
    // Cooled slowly, few flows remain.
    let steps = 1000 * board.len();
    for step in 0..steps {
        tiling.step(random, 0.3 - 0.2 * step as f64 / steps as f64);
        if tiling.short == 0 && tiling.count() <= flows {
            break;
        }
    }
    while tiling.short > 0 {
        tiling.step(random, 0.3);
    }
    puzzle(board, tiling.paths)
}

/// A puzzle with one solution: a tiling, its flows cut where another solution differs. `None` when a search
/// takes more than so many branchings.
pub fn unique(
    board: &Board,
    flows: usize,
    random: &mut Random,
    nodes: u64,
) -> Option<(Puzzle, Solution)> {
    let (mut puzzle, mut solution) = tiling(board, flows, random);
    let limits = Limits {
        solutions: 2,
        keep: 2,
        nodes: Some(nodes),
    };
    let mut search = Search::new();
    loop {
        let found = search.run(&puzzle, &limits, &|| false);
        if found.ended == Ended::Complete {
            return Some((puzzle, solution));
        }
        let other = found
            .solutions
            .into_iter()
            .find(|found| *found != solution)?;
        let differing: Vec<usize> = (0..solution.flows.len())
            .filter(|&flow| {
                let cells = &solution.flows[flow].cells;
                cells.len() >= 6 && other.flows.iter().all(|other| other.cells != *cells)
            })
            .collect();
        if differing.is_empty() {
            return None;
        }
        let mut paths: Vec<Vec<Cell>> = solution.flows.into_iter().map(|flow| flow.cells).collect();
        // One cut usually settles one place where the solutions differ.
        for _ in 0..differing.len().div_ceil(4) {
            let cut = differing[random.below(differing.len())];
            if paths[cut].len() >= 6 {
                let place = 3 + random.below(paths[cut].len() - 5);
                let rest = paths[cut].split_off(place);
                paths.push(rest);
            }
        }
        (puzzle, solution) = self::puzzle(board, paths);
    }
}

#[expect(
    clippy::expect_used,
    reason = "the ends of disjoint paths make a puzzle"
)]
fn puzzle(board: &Board, paths: Vec<Vec<Cell>>) -> (Puzzle, Solution) {
    let flows = paths.into_iter().filter(|cells| !cells.is_empty());
    let flows = flows.map(|cells| Flow { colour: 0, cells }).collect();
    let mut solution = Solution { flows }.canonical();
    let mut terminals = Vec::new();
    for (colour, flow) in (0 as Colour..).zip(&mut solution.flows) {
        flow.colour = colour;
        let ends = flow.cells.first().into_iter().chain(flow.cells.last());
        terminals.extend(ends.map(|&cell| Terminal { cell, colour }));
    }
    let puzzle = Puzzle::new(board.clone(), terminals, Rules::default()).expect("a puzzle");
    (puzzle, solution)
}

/// Disjoint paths that cover a board.
struct Tiling {
    paths: Vec<Vec<Cell>>,
    free: Vec<usize>,
    path_of: Vec<usize>,
    beside: Vec<Vec<Cell>>,
    /// Paths of one or two cells.
    short: usize,
}

impl Tiling {
    fn new(board: &Board) -> Self {
        let cells: Vec<_> = board.cells().collect();
        let graph = board.graph();
        let mut path_of = vec![0; board.len()];
        let mut beside = vec![Vec::new(); board.len()];
        for (path, &cell) in cells.iter().enumerate() {
            path_of[cell] = path;
            let links = graph
                .nodes_of(cell)
                .iter()
                .flat_map(|&node| graph.links(node));
            beside[cell] = links.map(|link| graph.cell_of(link.node)).collect();
        }
        Self {
            short: cells.len(),
            paths: cells.into_iter().map(|cell| vec![cell]).collect(),
            free: Vec::new(),
            path_of,
            beside,
        }
    }

    fn count(&self) -> usize {
        self.paths.len() - self.free.len()
    }

    /// The end of one path takes over a piece of another, if that makes few or long paths more likely.
    fn step(&mut self, random: &mut Random, temperature: f64) {
        let path = random.below(self.paths.len());
        if self.paths[path].is_empty() {
            return;
        }
        if random.below(2) == 0 {
            self.paths[path].reverse();
        }
        let own = &self.paths[path];
        let end = own[own.len() - 1];
        if self.beside[end].is_empty() {
            return;
        }
        let next = self.beside[end][random.below(self.beside[end].len())];
        let other = self.path_of[next];
        if other == path {
            return;
        }
        let split = self.paths[other].iter().position(|&cell| cell == next);
        let (before, after) = self.paths[other].split_at(split.unwrap_or(0));
        let (rest, mut piece) = if random.below(2) == 0 {
            (before.to_vec(), after.to_vec())
        } else {
            let back = before.iter().chain([&next]).rev().copied();
            (after[1..].to_vec(), back.collect())
        };
        let apart = |(index, cell): &(usize, &Cell)| {
            let mut beside = self.beside[**cell].iter();
            beside.all(|&other| self.path_of[other] != path || (*index == 0 && other == end))
        };
        let mut taken = piece.iter().enumerate().take_while(apart).count();
        if taken > 0 && random.below(2) == 0 {
            taken = 1 + random.below(taken);
        }
        if taken == 0 {
            return;
        }
        let left_over = piece.split_off(taken);
        let old = [own.len(), self.paths[other].len()];
        let new = [own.len() + taken, rest.len(), left_over.len()];
        let cost = |lengths: &[usize]| -> f64 {
            let lengths = lengths.iter().filter(|length| **length > 0);
            lengths
                .map(|&length| 1.0 + 0.5 * 3_usize.saturating_sub(length) as f64)
                .sum()
        };
        let worse = cost(&new) - cost(&old);
        if worse > 0.0 && random.unit() >= (-worse / temperature).exp() {
            return;
        }
        let short = |lengths: &[usize]| lengths.iter().filter(|len| (1..3).contains(*len)).count();
        self.short = self.short + short(&new) - short(&old);
        for &cell in &piece {
            self.path_of[cell] = path;
        }
        self.paths[path].append(&mut piece);
        self.paths[other].clear();
        self.free.push(other);
        for cells in [rest, left_over] {
            self.add(cells);
        }
    }

    fn add(&mut self, cells: Vec<Cell>) {
        if cells.is_empty() {
            return;
        }
        let path = self.free.pop().unwrap_or_else(|| {
            self.paths.push(Vec::new());
            self.paths.len() - 1
        });
        for &cell in &cells {
            self.path_of[cell] = path;
        }
        self.paths[path] = cells;
    }
}
