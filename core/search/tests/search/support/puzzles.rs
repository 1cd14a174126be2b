//! Random small puzzles of every kind.

use flowpipe_puzzle::board::{Board, Description, Lattice};
use flowpipe_puzzle::graph::{directions, step};
use flowpipe_puzzle::{Cell, Direction, Node, Puzzle, Rules, Terminal};
use proptest::prelude::*;

/// Any small puzzle under the strict rules: every kind of board, one or several flows of a colour.
pub fn any_puzzle() -> impl Strategy<Value = Puzzle> {
    let shape = (1..=6_usize, 1..=6_usize, any::<bool>(), any::<bool>());
    let choices = proptest::collection::vec(any::<u32>(), 128);
    (shape, 0..4_u8, any::<bool>(), choices).prop_filter_map(
        "a board without room for terminals, or one that takes too long to try",
        |((rows, cols, hex, warps), furniture, plain, choices)| {
            let mut choices = Choices(choices.into_iter());
            let (hex, warps) = (hex && !plain, warps && !plain);
            let most = if hex {
                16
            } else if warps {
                20
            } else {
                25
            };
            if rows * cols > most {
                return None;
            }
            let mut description = Description {
                rows,
                cols,
                lattice: if hex { Lattice::Hex } else { Lattice::Square },
                warps,
                ..Description::default()
            };
            if !plain {
                furnish(&mut description, furniture, &mut choices);
            }
            // Hexes do not wrap around an odd number of columns.
            let board = Board::new(description).ok()?;
            let mut ends = ends_of_drawn_paths(&board, &mut choices);
            if choices.below(8) == 0 {
                disturb(&board, &mut ends, &mut choices);
            }
            // Every third time two pairs share a colour, every sixth all do.
            let share = [1, 1, 1, 2, 2, 64][choices.below(6)];
            let terminals = ends.into_iter().enumerate().flat_map(|(index, ends)| {
                let colour = u16::try_from(index / share).unwrap();
                ends.map(|cell| Terminal { cell, colour })
            });
            Puzzle::new(board, terminals.collect(), Rules::default()).ok()
        },
    )
}

/// Random numbers that proptest can shrink.
struct Choices(std::vec::IntoIter<u32>);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next().unwrap_or(0) as usize % bound
    }
}

/// Adds holes, bridges and walls.
fn furnish(description: &mut Description, most: u8, choices: &mut Choices) {
    let cells = description.rows * description.cols;
    let most = usize::from(most) + 1;
    for _ in 0..choices.below(most) {
        description.holes.push(choices.below(cells));
    }
    for _ in 0..choices.below(most) {
        let bridge = choices.below(cells);
        if !description.holes.contains(&bridge) {
            description.bridges.push(bridge);
        }
    }
    for _ in 0..choices.below(2 * most) {
        let cell = choices.below(cells);
        let way = choices.below(usize::from(directions(description.lattice)));
        if let Some(beside) = step(description, cell, Direction(way as u8)) {
            description.walls.push((cell, beside));
        }
    }
}

/// Moves one terminal to a free cell.
fn disturb(board: &Board, ends: &mut [[Cell; 2]], choices: &mut Choices) {
    let taken: Vec<Cell> = ends.iter().flatten().copied().collect();
    let free: Vec<Cell> = board
        .cells()
        .filter(|cell| !board.is_bridge(*cell) && !taken.contains(cell))
        .collect();
    if !free.is_empty() && !ends.is_empty() {
        let which = choices.below(ends.len());
        ends[which][choices.below(2)] = free[choices.below(free.len())];
    }
}

/// The ends of paths drawn at random until nothing more fits, none of which touches itself, so that there
/// often is a solution.
fn ends_of_drawn_paths(board: &Board, choices: &mut Choices) -> Vec<[Cell; 2]> {
    let graph = board.graph();
    let mut taken = vec![false; graph.len()];
    let mut pairs = Vec::new();
    let ends_here = |node: Node| !board.is_bridge(graph.cell_of(node));
    let beside = |node: Node| graph.links(node).iter().map(|link| link.node);
    for start in (0..graph.len()).filter(|&node| ends_here(node)) {
        if taken[start] {
            continue;
        }
        let mut path = vec![start];
        let most = 2 + choices.below(12);
        while path.len() < most || path.last().is_some_and(|&last| !ends_here(last)) {
            let last = *path.last().unwrap();
            let fits = |node: &Node| {
                !taken[*node]
                    && !path.contains(node)
                    && !beside(*node).any(|other| other != last && path.contains(&other))
            };
            let free: Vec<Node> = beside(last).filter(fits).collect();
            if free.is_empty() {
                break;
            }
            path.push(free[choices.below(free.len())]);
        }
        while path.last().is_some_and(|&last| !ends_here(last)) {
            path.pop();
        }
        if path.len() > 1 {
            pairs.push([start, *path.last().unwrap()].map(|node| graph.cell_of(node)));
            for node in path {
                taken[node] = true;
            }
        }
    }
    pairs
}
