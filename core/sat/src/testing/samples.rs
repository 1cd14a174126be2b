//! Puzzles for the tests: as text, and made at random.

use flowpipe_puzzle::board::{Board, Description, Lattice};
use flowpipe_puzzle::graph::step;
use flowpipe_puzzle::{Cell, Direction, Node, Puzzle, Rules, Terminal};
use proptest::prelude::*;

/// A puzzle on squares: letters are terminals, `#` a hole, `+` a bridge, `.` any other cell.
pub fn puzzle(text: &str) -> Puzzle {
    let rows: Vec<&str> = text.lines().collect();
    let mut description = Description {
        rows: rows.len(),
        cols: rows[0].len(),
        ..Description::default()
    };
    let mut terminals = Vec::new();
    for (cell, letter) in rows.concat().bytes().enumerate() {
        match letter {
            b'#' => description.holes.push(cell),
            b'+' => description.bridges.push(cell),
            b'.' => {}
            letter => terminals.push(Terminal {
                cell,
                colour: u16::from(letter - b'A'),
            }),
        }
    }
    Puzzle::new(
        Board::new(description).unwrap(),
        terminals,
        Rules::default(),
    )
    .unwrap()
}

/// Any small puzzle: every kind of board, one or several flows of a colour, every mix of rules.
pub fn any_puzzle() -> impl Strategy<Value = Puzzle> {
    small_puzzle(2)
}

/// Any small puzzle with one pair of each colour: every kind of board, every mix of rules.
pub fn any_puzzle_of_single_pairs() -> impl Strategy<Value = Puzzle> {
    small_puzzle(1)
}

/// At most so many pairs share a colour.
fn small_puzzle(most_pairs: usize) -> impl Strategy<Value = Puzzle> {
    let shape = (1..=4_usize, 1..=4_usize, any::<bool>(), any::<bool>());
    let rules = (any::<bool>(), any::<bool>());
    let choices = proptest::collection::vec(any::<u32>(), 64);
    (shape, rules, any::<bool>(), choices).prop_filter_map(
        "a board without room for terminals",
        move |((rows, cols, hex, warps), (cover, touch), drawn, choices)| {
            let mut choices = Choices(choices.into_iter());
            // Without an edge or with six neighbours, trying everything takes too long on 4 by 4.
            let rows = if (hex || warps) && rows * cols > 12 {
                3
            } else {
                rows
            };
            let description = Description {
                rows,
                cols,
                lattice: if hex { Lattice::Hex } else { Lattice::Square },
                warps,
                ..Description::default()
            };
            let board = furnished(description, &mut choices)?;
            let ends = if drawn {
                ends_of_drawn_paths(&board, &mut choices)
            } else {
                scattered(&board, &mut choices)
            };
            let share = choices.below(most_pairs) + 1;
            let terminals = ends.into_iter().enumerate().flat_map(|(index, ends)| {
                let colour = u16::try_from(index / share).unwrap();
                ends.map(|cell| Terminal { cell, colour })
            });
            Puzzle::new(board, terminals.collect(), Rules { cover, touch }).ok()
        },
    )
}

/// A puzzle with many solutions on a flat board that is too large to try everything: the ends of paths
/// drawn on squares or hexes with a few holes.
pub fn flat_puzzle() -> impl Strategy<Value = Puzzle> {
    let shape = (3..=7_usize, 3..=6_usize, any::<bool>());
    let rules = (any::<bool>(), any::<bool>());
    let choices = proptest::collection::vec(any::<u32>(), 128);
    (shape, rules, choices).prop_filter_map(
        "a board without room for terminals",
        |((rows, cols, hex), (cover, touch), choices)| {
            let mut choices = Choices(choices.into_iter());
            let (rows, cols) = if hex {
                (rows.min(5), cols.min(4))
            } else {
                (rows, cols)
            };
            let count = choices.below(4);
            let holes = (0..count).map(|_| choices.below(rows * cols));
            let board = Board::new(Description {
                rows,
                cols,
                lattice: if hex { Lattice::Hex } else { Lattice::Square },
                holes: holes.collect(),
                ..Description::default()
            })
            .ok()?;
            let ends = ends_of_drawn_paths(&board, &mut choices)
                .into_iter()
                .enumerate();
            let terminals = ends.flat_map(|(colour, ends)| {
                let colour = u16::try_from(colour).unwrap();
                ends.map(|cell| Terminal { cell, colour })
            });
            Puzzle::new(board, terminals.collect(), Rules { cover, touch }).ok()
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

/// Adds a few holes, bridges and walls.
fn furnished(mut description: Description, choices: &mut Choices) -> Option<Board> {
    let cells = description.rows * description.cols;
    for _ in 0..choices.below(3) {
        description.holes.push(choices.below(cells));
    }
    for _ in 0..choices.below(3) {
        let bridge = choices.below(cells);
        if !description.holes.contains(&bridge) {
            description.bridges.push(bridge);
        }
    }
    for _ in 0..choices.below(3) {
        let cell = choices.below(cells);
        if let Some(beside) = step(&description, cell, Direction(choices.below(4) as u8)) {
            description.walls.push((cell, beside));
        }
    }
    // Hexes do not wrap around an odd number of columns.
    Board::new(description).ok()
}

/// Pairs of cells anywhere.
fn scattered(board: &Board, choices: &mut Choices) -> Vec<[Cell; 2]> {
    let mut free: Vec<Cell> = board
        .cells()
        .filter(|&cell| !board.is_bridge(cell))
        .collect();
    let mut pairs = Vec::new();
    for _ in 0..1 + choices.below(4) {
        if free.len() < 2 {
            break;
        }
        let mut take = || free.swap_remove(choices.below(free.len()));
        pairs.push([take(), take()]);
    }
    pairs
}

/// The ends of paths drawn at random until nothing more fits, so that there often is a solution.
fn ends_of_drawn_paths(board: &Board, choices: &mut Choices) -> Vec<[Cell; 2]> {
    let graph = board.graph();
    let mut taken = vec![false; graph.len()];
    let mut pairs = Vec::new();
    let ends_here = |node: Node| !board.is_bridge(graph.cell_of(node));
    for start in (0..graph.len()).filter(|&node| ends_here(node)) {
        if taken[start] {
            continue;
        }
        let mut path = vec![start];
        let most = 2 + choices.below(8);
        while path.len() < most || path.last().is_some_and(|&last| !ends_here(last)) {
            let last = *path.last().unwrap();
            let free: Vec<Node> = graph
                .links(last)
                .iter()
                .map(|link| link.node)
                .filter(|node| !taken[*node] && !path.contains(node))
                .collect();
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
