//! Boards to measure on: generated ones, the same each time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowpipe_puzzle::{Board, Cell, Puzzle, Rules, Terminal};

/// Numbers that look random (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize) % bound
    }
}

fn neighbours(size: usize, cell: Cell) -> Vec<Cell> {
    let (row, col) = (cell / size, cell % size);
    let mut cells = Vec::new();
    if row > 0 {
        cells.push(cell - size);
    }
    if col > 0 {
        cells.push(cell - 1);
    }
    if col + 1 < size {
        cells.push(cell + 1);
    }
    if row + 1 < size {
        cells.push(cell + size);
    }
    cells
}

fn square(size: usize, ends: &[[Cell; 2]], rules: Rules) -> Puzzle {
    let terminals = (0_u16..)
        .zip(ends)
        .flat_map(|(colour, ends)| ends.map(|cell| Terminal { cell, colour }));
    let board = Board::rectangle(size, size).unwrap();
    Puzzle::new(board, terminals.collect(), rules).unwrap()
}

/// A square to be covered by flows that may touch themselves: one path through all cells, shuffled by
/// backbiting, cut into pieces.
pub fn covered(size: usize, flows: usize, seed: u64) -> Puzzle {
    let mut random = Random::new(seed);
    let mut path: Vec<Cell> = (0..size)
        .flat_map(|row| {
            let turned = move |col| if row % 2 == 0 { col } else { size - 1 - col };
            (0..size).map(move |col| row * size + turned(col))
        })
        .collect();
    for _ in 0..size * size * 20 {
        if random.below(2) == 0 {
            path.reverse();
        }
        let around = neighbours(size, *path.last().unwrap());
        let chosen = around[random.below(around.len())];
        let at = path.iter().position(|&cell| cell == chosen).unwrap();
        path[at + 1..].reverse();
    }
    let mut cuts = loop {
        let mut cuts: Vec<usize> = (1..flows).map(|_| random.below(path.len())).collect();
        cuts.extend([0, path.len()]);
        cuts.sort_unstable();
        if cuts.windows(2).all(|cut| cut[1] - cut[0] > 2) {
            break cuts;
        }
    };
    cuts.dedup();
    let ends: Vec<[Cell; 2]> = cuts
        .windows(2)
        .map(|cut| [path[cut[0]], path[cut[1] - 1]])
        .collect();
    let rules = Rules {
        cover: true,
        touch: true,
    };
    square(size, &ends, rules)
}

/// A square on which most cells stay empty: paths drawn one after the other, each around those before.
pub fn sparse(size: usize, flows: usize, seed: u64) -> Puzzle {
    let mut random = Random::new(seed);
    let rules = Rules {
        cover: false,
        touch: false,
    };
    'again: loop {
        let mut taken = vec![false; size * size];
        let mut ends = Vec::new();
        for tries in 0.. {
            if ends.len() == flows {
                return square(size, &ends, rules);
            }
            if tries == 200 {
                continue 'again;
            }
            let pair = [random.below(size * size), random.below(size * size)];
            if pair[0] != pair[1]
                && !taken[pair[0]]
                && !taken[pair[1]]
                && draw(size, pair, &mut taken, &mut random)
            {
                ends.push(pair);
            }
        }
    }
}

/// Draws a crooked path, if there is room.
fn draw(size: usize, [start, end]: [Cell; 2], taken: &mut [bool], random: &mut Random) -> bool {
    let price: Vec<usize> = taken.iter().map(|_| 1 + random.below(6)).collect();
    let mut cost = vec![usize::MAX; taken.len()];
    let mut from = vec![None; taken.len()];
    cost[start] = 0;
    let mut open = BinaryHeap::from([(Reverse(0), start)]);
    while let Some((Reverse(so_far), here)) = open.pop() {
        for there in neighbours(size, here) {
            let total = so_far + price[there];
            if !taken[there] && total < cost[there] {
                cost[there] = total;
                from[there] = Some(here);
                open.push((Reverse(total), there));
            }
        }
    }
    if cost[end] == usize::MAX {
        return false;
    }
    for cell in std::iter::successors(Some(end), |&cell| from[cell]) {
        taken[cell] = true;
    }
    true
}
