//! Boards, puzzles and solutions of every kind, for properties that hold for all of them.

use std::collections::HashMap;

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::graph::step;
use flowpipe_puzzle::{Board, Direction, Flow, Lattice, Puzzle, Rules, Solution, Terminal};
use proptest::prelude::*;

/// Boards of every kind, up to 7 by 7.
pub fn board() -> impl Strategy<Value = Board> {
    let size = (1..8_usize, 1..8_usize);
    (size, any::<bool>(), any::<bool>()).prop_flat_map(|((rows, cols), hex, warps)| {
        let lattice = if hex { Lattice::Hex } else { Lattice::Square };
        let warps = warps && (!hex || (rows >= 3 && cols % 2 == 0));
        let plain = Description {
            rows,
            cols,
            lattice,
            warps,
            ..Description::default()
        };
        let cells = rows * cols;
        // Of each cell: plain, a hole, a bridge, or with a wall in a direction.
        let kinds = prop::collection::vec(0..24_u8, cells);
        kinds.prop_map(move |kinds| {
            let mut board = plain.clone();
            for (cell, kind) in kinds.into_iter().enumerate() {
                match kind {
                    0 => board.holes.push(cell),
                    1 => board.bridges.push(cell),
                    2..8 => {
                        let other = step(&board, cell, Direction(kind - 2));
                        board.walls.extend(other.map(|other| (cell, other)));
                    }
                    _ => {}
                }
            }
            Board::new(board).unwrap()
        })
    })
}

/// Puzzles on such boards, colours numbered by first appearance; most have no solution.
pub fn puzzle() -> impl Strategy<Value = Puzzle> {
    (
        board(),
        prop::collection::vec(any::<u16>(), 49),
        any::<[bool; 3]>(),
    )
        .prop_filter_map(
            "no room for terminals",
            |(board, order, [plain, cover, touch])| {
                let kept = board.description().clone();
                // Half of the boards are such as grid text can express.
                let board = if plain {
                    let walls = Vec::new();
                    Board::new(Description {
                        walls,
                        warps: false,
                        lattice: Lattice::Square,
                        ..kept
                    })
                } else {
                    Board::new(kept)
                };
                let board = board.unwrap();
                let mut cells: Vec<_> = board
                    .cells()
                    .filter(|&cell| !board.is_bridge(cell))
                    .collect();
                cells.sort_by_key(|&cell| order[cell]);
                let pairs = cells.chunks_exact(2).take(usize::from(order[48] % 30));
                // Every seventh pair shares the first colour.
                let mut terminals: Vec<(usize, usize)> = pairs
                    .enumerate()
                    .flat_map(|(index, pair)| {
                        let colour = if index % 7 == 6 { 0 } else { index };
                        [(pair[0], colour), (pair[1], colour)]
                    })
                    .collect();
                terminals.sort_unstable();
                let mut numbers = HashMap::new();
                let terminals = terminals.into_iter().map(|(cell, colour)| {
                    let next = numbers.len() as u16;
                    Terminal {
                        cell,
                        colour: *numbers.entry(colour).or_insert(next),
                    }
                });
                let rules = Rules { cover, touch };
                Puzzle::new(board, terminals.collect(), rules).ok()
            },
        )
}

/// A rectangle whose rows are cut into flows: solved, every cell covered, no flow touching itself.
pub fn solved() -> impl Strategy<Value = (Puzzle, Solution)> {
    (
        2..7_usize,
        prop::collection::vec(prop::collection::vec(2..6_usize, 1..4), 2..7),
    )
        .prop_map(|(extra, mut rows)| {
            let cols = rows.iter().map(|row| row.iter().sum()).max().unwrap_or(0) + extra;
            let mut flows: Vec<Flow> = Vec::new();
            for (index, row) in rows.iter_mut().enumerate() {
                row.push(cols - row.iter().sum::<usize>());
                let mut start = index * cols;
                for &length in row.iter() {
                    let cells = (start..start + length).collect();
                    flows.push(Flow {
                        colour: flows.len() as u16,
                        cells,
                    });
                    start += length;
                }
            }
            let ends = flows.iter().flat_map(|flow| {
                let ends = [flow.cells[0], flow.cells[flow.cells.len() - 1]];
                ends.map(|cell| Terminal {
                    cell,
                    colour: flow.colour,
                })
            });
            let board = Board::rectangle(rows.len(), cols).unwrap();
            let puzzle = Puzzle::new(board, ends.collect(), Rules::default()).unwrap();
            (puzzle, Solution { flows })
        })
}
