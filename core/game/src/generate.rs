//! Puzzles of our own, with a solution that keeps Flow Free's rules.
//!
//! Every cell begins as a path of its own. In a random step the end of one path takes over a piece
//! of another, as long as no path touches itself; what is left of the other stays as one path or
//! two. Steps that lower the number of paths are always made, those that raise it now and then (as
//! in simulated annealing at a constant temperature), until there are as many paths as asked for,
//! none too short. Their ends are the terminals. The puzzle may have other solutions.

use flowpipe_puzzle::{Board, Cell, Colour, Flow, Puzzle, PuzzleError, Rules, Solution, Terminal};
use thiserror::Error;

use crate::random::Random;

/// Why no puzzle came out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GenerateError {
    /// A board with bridges.
    #[error("puzzles with bridges can't be generated")]
    Bridges,
    /// Every attempt was left with more or fewer flows or with one of a cell or two.
    #[error("no tiling of {cells} cells by {flows} flows was found in {attempts} attempts")]
    NotFound {
        /// Cells of the board.
        cells: usize,
        /// Flows asked for.
        flows: usize,
        /// Attempts made.
        attempts: usize,
    },
    /// The paths do not make a puzzle.
    #[error(transparent)]
    Puzzle(#[from] PuzzleError),
}

/// The fewest cells of a generated flow.
pub const SHORTEST: usize = 3;

const ATTEMPTS: usize = 20;
/// Random steps in an attempt, for each cell of the board.
const STEPS_PER_CELL: usize = 2000;
/// How freely a step may make things worse. Much higher, and boards of 15 by 15 keep more than
/// their usual 15 flows; much lower, and walks end in dead ends.
const TEMPERATURE: f64 = 0.3;
/// What a path costs for each cell that it has too few, where a path itself costs 1.
const SHORT_COST: f64 = 0.5;

/// A puzzle on a board with exactly `flows` flows of three cells or more, and a solution of it in
/// canonical order. The same board, flows and seed give the same puzzle.
///
/// # Errors
/// See [`GenerateError`]. Very few or very many flows may not be found.
pub fn generate(
    board: &Board,
    flows: usize,
    seed: u64,
) -> Result<(Puzzle, Solution), GenerateError> {
    if !board.description().bridges.is_empty() {
        return Err(GenerateError::Bridges);
    }
    let mut random = Random::new(seed);
    for _ in 0..ATTEMPTS {
        let mut tiling = Tiling::new(board);
        for _ in 0..STEPS_PER_CELL * board.len() {
            tiling.step(&mut random);
            if tiling.short == 0 && tiling.count() == flows {
                return Ok(tiling.puzzle(board)?);
            }
        }
    }
    let cells = board.cells().count();
    Err(GenerateError::NotFound {
        cells,
        flows,
        attempts: ATTEMPTS,
    })
}

/// Disjoint paths that cover a board, none of which touches itself.
struct Tiling {
    /// Cells from end to end; empty for a path that was taken over.
    paths: Vec<Vec<Cell>>,
    /// Places in `paths` that are empty.
    free: Vec<usize>,
    /// Path by cell.
    path_of: Vec<usize>,
    /// Cells that each cell has a passage to.
    beside: Vec<Vec<Cell>>,
    /// Paths that are too short, but not empty.
    short: usize,
}

impl Tiling {
    fn new(board: &Board) -> Self {
        let graph = board.graph();
        let cells: Vec<_> = board.cells().collect();
        let mut path_of = vec![0; board.len()];
        let mut beside = vec![Vec::new(); board.len()];
        for (path, &cell) in cells.iter().enumerate() {
            path_of[cell] = path;
            for &node in graph.nodes_of(cell) {
                beside[cell].extend(
                    graph
                        .links(node)
                        .iter()
                        .map(|link| graph.cell_of(link.node)),
                );
            }
            beside[cell].sort_unstable();
            beside[cell].dedup();
        }
        let short = cells.len();
        let paths = cells.into_iter().map(|cell| vec![cell]).collect();
        Self {
            paths,
            free: Vec::new(),
            path_of,
            beside,
            short,
        }
    }

    fn count(&self) -> usize {
        self.paths.len() - self.free.len()
    }

    /// Tries one random step.
    fn step(&mut self, random: &mut Random) {
        let path = random.below(self.paths.len());
        let at_head = random.below(2) == 0;
        let own = &self.paths[path];
        let Some(&end) = (if at_head { own.first() } else { own.last() }) else {
            return;
        };
        let Some(&next) = random.pick(&self.beside[end]) else {
            return;
        };
        let other = self.path_of[next];
        if other == path {
            return;
        }
        // The piece to take: from the cell beside the end towards either end of the other path.
        let split = self.paths[other]
            .iter()
            .position(|&cell| cell == next)
            .unwrap_or(0);
        let (before, after) = self.paths[other].split_at(split);
        let (rest, mut piece) = if random.below(2) == 0 {
            (before.to_vec(), after.to_vec())
        } else {
            (
                after[1..].to_vec(),
                before.iter().chain([&next]).rev().copied().collect(),
            )
        };
        let mut taken = self.apart(path, end, &piece);
        if random.below(2) == 0 {
            taken = taken.min(1 + random.below(taken));
        }
        if taken == 0 {
            return;
        }
        let left_over = piece.split_off(taken);
        let old = [own.len(), self.paths[other].len()];
        let new = [own.len() + taken, rest.len(), left_over.len()];
        let worse = new.map(cost).iter().sum::<f64>() - old.map(cost).iter().sum::<f64>();
        if worse > 0.0 && random.unit() >= (-worse / TEMPERATURE).exp() {
            return;
        }
        self.short += new.into_iter().filter(|&len| is_short(len)).count();
        self.short -= old.into_iter().filter(|&len| is_short(len)).count();
        if at_head {
            self.paths[path].reverse();
        }
        for &cell in &piece {
            self.path_of[cell] = path;
        }
        self.paths[path].append(&mut piece);
        self.paths[other].clear();
        self.free.push(other);
        self.add(rest);
        self.add(left_over);
    }

    /// How many cells of a piece the end of a path can take over: the first may touch the end, none
    /// may touch another cell of the path.
    fn apart(&self, path: usize, end: Cell, piece: &[Cell]) -> usize {
        let is_apart = |(index, cell): &(usize, &Cell)| {
            let mut beside = self.beside[**cell].iter();
            beside.all(|&other| self.path_of[other] != path || (*index == 0 && other == end))
        };
        piece.iter().enumerate().take_while(is_apart).count()
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

    fn puzzle(self, board: &Board) -> Result<(Puzzle, Solution), PuzzleError> {
        let cells = self.paths.into_iter().filter(|cells| !cells.is_empty());
        let flows = cells.map(|cells| Flow { colour: 0, cells }).collect();
        let mut solution = Solution { flows }.canonical();
        let mut terminals = Vec::new();
        for (colour, flow) in (0 as Colour..).zip(&mut solution.flows) {
            flow.colour = colour;
            let ends = flow.cells.first().into_iter().chain(flow.cells.last());
            terminals.extend(ends.map(|&cell| Terminal { cell, colour }));
        }
        let puzzle = Puzzle::new(board.clone(), terminals, Rules::default())?;
        Ok((puzzle, solution))
    }
}

fn is_short(len: usize) -> bool {
    (1..SHORTEST).contains(&len)
}

fn cost(len: usize) -> f64 {
    if len == 0 {
        0.0
    } else {
        1.0 + SHORT_COST * SHORTEST.saturating_sub(len) as f64
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::board::Description;
    use flowpipe_puzzle::{Lattice, check};

    use super::*;

    /// Every cell once, consecutive cells touch, no others of the same flow do.
    fn assert_fit(puzzle: &Puzzle, solution: &Solution, flows: usize) {
        let board = puzzle.board();
        assert_eq!(solution.flows.len(), flows);
        let mut cells: Vec<_> = solution
            .flows
            .iter()
            .flat_map(|flow| flow.cells.clone())
            .collect();
        cells.sort_unstable();
        assert_eq!(cells, board.cells().collect::<Vec<_>>());
        for flow in &solution.flows {
            assert!(flow.cells.len() >= SHORTEST);
            for (i, &a) in flow.cells.iter().enumerate() {
                for (j, &b) in flow.cells.iter().enumerate().skip(i + 1) {
                    assert_eq!(board.touch(a, b), j == i + 1, "cells {a} and {b}");
                }
            }
        }
        assert_eq!(check(puzzle, solution), Ok(()));
    }

    #[test]
    fn rectangles_are_tiled() {
        for (rows, cols, flows) in [(5, 5, 5), (7, 7, 4), (9, 9, 12), (18, 15, 16)] {
            let board = Board::rectangle(rows, cols).expect("a board");
            let (puzzle, solution) = generate(&board, flows, 1).expect("a puzzle");
            assert_fit(&puzzle, &solution, flows);
        }
    }

    #[test]
    fn other_boards_are_tiled() {
        let plain = Description {
            rows: 6,
            cols: 6,
            ..Description::default()
        };
        for description in [
            Description {
                lattice: Lattice::Hex,
                ..plain.clone()
            },
            Description {
                warps: true,
                ..plain.clone()
            },
            Description {
                holes: vec![0, 35],
                walls: vec![(14, 15), (15, 21)],
                ..plain
            },
        ] {
            let board = Board::new(description).expect("a board");
            let (puzzle, solution) = generate(&board, 8, 3).expect("a puzzle");
            assert_fit(&puzzle, &solution, 8);
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let board = Board::rectangle(6, 6).expect("a board");
        let made = |seed| generate(&board, 6, seed).expect("a puzzle");
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }

    #[test]
    fn the_impossible_is_said() {
        let board = Board::rectangle(1, 2).expect("a board");
        let error = generate(&board, 5, 0).expect_err("two cells make no flow of three");
        assert_eq!(
            error,
            GenerateError::NotFound {
                cells: 2,
                flows: 5,
                attempts: ATTEMPTS
            }
        );
        let bridged = Board::new(Description {
            rows: 3,
            cols: 3,
            bridges: vec![4],
            ..Description::default()
        })
        .expect("a board");
        assert_eq!(generate(&bridged, 5, 0), Err(GenerateError::Bridges));
    }
}
