//! Random boards of a kind: where the holes, walls and bridges are.
//!
//! Holes, walls and bridges come in pairs that mirror each other, as on most of the real game's boards.
//! Every cell keeps at least two neighbours, and the board stays connected.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::graph::{self, Direction};
use flowpipe_puzzle::{Board, Cell, Lattice};

use crate::kind::Kind;
use crate::random::Random;
use crate::size::Size;

/// Of a hundred cells, how many become holes: at least and at most.
const HOLES: (usize, usize) = (4, 16);
/// For a hundred cells, how many runs of walls are set.
const WALLS: (usize, usize) = (6, 16);
/// Walls in one run, at most.
const RUN: usize = 3;
/// For a hundred cells, how many bridges are set. At least one is.
const BRIDGES: (usize, usize) = (2, 6);
/// Of a hundred passages around the edges of a board that warps, how many are closed.
const CLOSED: (usize, usize) = (30, 80);

/// Tries for each hole, wall or bridge before there is one fewer.
const TRIES: usize = 20;

/// A board of a size with each of the kinds. `None` where the random places admit no such board;
/// other numbers may.
pub(crate) fn shape(size: Size, kinds: &[Kind], random: &mut Random) -> Option<Board> {
    let has = |kind| kinds.contains(&kind);
    let mut plan = Plan::new(size, has(Kind::Hexes), has(Kind::Warps), random)?;
    if has(Kind::Warps) {
        plan.close_edges(random);
    }
    let mut set = |kind, share: (usize, usize), add: fn(&mut Plan, &mut Random)| {
        if has(kind) {
            let percent = share.0 + random.below(share.1 - share.0 + 1);
            for _ in 0..(size.cells() * percent).div_ceil(200) {
                add(&mut plan, random);
            }
        }
    };
    set(Kind::Holes, HOLES, Plan::add_hole);
    set(Kind::Walls, WALLS, Plan::add_walls);
    set(Kind::Bridges, BRIDGES, Plan::add_bridge);
    let made = plan.board.description();
    let complete = (!has(Kind::Holes) || !made.holes.is_empty())
        && (!has(Kind::Walls) || !made.walls.is_empty())
        && (!has(Kind::Bridges) || !made.bridges.is_empty());
    complete.then_some(plan.board)
}

struct Plan {
    board: Board,
    /// Whether halves are turned about the middle instead of mirrored left to right.
    turned: bool,
}

impl Plan {
    fn new(size: Size, hexes: bool, warps: bool, random: &mut Random) -> Option<Self> {
        let description = Description {
            rows: size.rows(),
            cols: size.cols(),
            lattice: if hexes { Lattice::Hex } else { Lattice::Square },
            warps,
            ..Description::default()
        };
        Some(Self {
            board: Board::new(description).ok()?,
            turned: random.below(2) == 0,
        })
    }

    /// The cell that mirrors a cell.
    fn mirror(&self, cell: Cell) -> Cell {
        let (rows, cols) = (self.board.rows(), self.board.cols());
        let (row, col) = self.board.row_col(cell);
        let row = if self.turned { rows - 1 - row } else { row };
        row * cols + cols - 1 - col
    }

    fn any_cell(&self, random: &mut Random) -> Cell {
        random.below(self.board.len())
    }

    fn add_hole(&mut self, random: &mut Random) {
        self.add(random, |plan, description, random| {
            let cell = plan.any_cell(random);
            description.holes.extend([cell, plan.mirror(cell)]);
        });
    }

    fn add_bridge(&mut self, random: &mut Random) {
        self.add(random, |plan, description, random| {
            let cell = plan.any_cell(random);
            description.bridges.extend([cell, plan.mirror(cell)]);
        });
    }

    fn add_walls(&mut self, random: &mut Random) {
        self.add(random, |plan, description, random| {
            let ways = graph::directions(description.lattice);
            let across = Direction(random.below(usize::from(ways)) as u8);
            let along = Direction((across.0 + 1) % ways);
            let length = match description.lattice {
                Lattice::Square => 1 + random.below(RUN),
                // Walls between hexes do not lie in a line.
                Lattice::Hex => 1,
            };
            let mut next = Some(plan.any_cell(random));
            for _ in 0..length {
                let wall = next.and_then(|cell| Some((cell, plan.beyond(cell, across)?)));
                let Some((a, b)) = wall else { return };
                let mirrored = (plan.mirror(a), plan.mirror(b));
                description.walls.push((a, b));
                if plan.board.touch(mirrored.0, mirrored.1) {
                    description.walls.push(mirrored);
                }
                next = plan.beyond(a, along);
            }
        });
    }

    /// Closes some of the passages around the edges.
    fn close_edges(&mut self, random: &mut Random) {
        let mut description = self.board.description().clone();
        let percent = CLOSED.0 + random.below(CLOSED.1 - CLOSED.0 + 1);
        for cell in self.board.cells() {
            for way in 0..graph::directions(description.lattice) {
                let Some(other) = self.beyond(cell, Direction(way)) else {
                    continue;
                };
                let ((row, col), (to_row, to_col)) =
                    (self.board.row_col(cell), self.board.row_col(other));
                let wraps = row.abs_diff(to_row) > 1 || col.abs_diff(to_col) > 1;
                if wraps && cell < other && random.below(100) < percent {
                    description.walls.push((cell, other));
                }
            }
        }
        self.change(description);
    }

    fn beyond(&self, cell: Cell, direction: Direction) -> Option<Cell> {
        graph::step(self.board.description(), cell, direction)
    }

    /// Changes the board in a random way, if one of several tries leaves it fit.
    fn add(&mut self, random: &mut Random, draw: impl Fn(&Self, &mut Description, &mut Random)) {
        for _ in 0..TRIES {
            let mut description = self.board.description().clone();
            draw(self, &mut description, random);
            if description != *self.board.description() && self.change(description) {
                return;
            }
        }
    }

    fn change(&mut self, description: Description) -> bool {
        let Ok(board) = Board::new(description) else {
            return false;
        };
        let fit = is_fit(&board);
        if fit {
            self.board = board;
        }
        fit
    }
}

/// Whether every cell has two neighbours, every bridge all of its ways, the board is in one piece,
/// and no two bridges are neighbours.
fn is_fit(board: &Board) -> bool {
    let graph = board.graph();
    let links = |node| graph.links(node).iter().map(|link| link.node);
    for node in 0..graph.len() {
        let beside = links(node).count();
        let is_bridge = |node| board.is_bridge(graph.cell_of(node));
        if beside < 2 || is_bridge(node) && links(node).any(is_bridge) {
            return false;
        }
    }
    // Over a bridge one goes straight only, so the ways over it count as nodes of their own.
    let mut seen = vec![false; graph.len()];
    let mut open = vec![0];
    let mut count = 0;
    while let Some(node) = open.pop() {
        if graph.len() > node && !std::mem::replace(&mut seen[node], true) {
            count += 1;
            open.extend(links(node));
        }
    }
    count > 0 && count == graph.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_on_its_board() {
        for kind in Kind::ALL {
            for side in [5, 9, 20] {
                let mut random = Random::new(side as u64);
                let size = Size::new(side, side + 1).expect("a size");
                let board = shape(size, &[kind], &mut random).expect("a board");
                let made = board.description();
                assert_eq!((made.cols, made.rows), (side, side + 1));
                let has = match kind {
                    Kind::Bridges => !made.bridges.is_empty(),
                    Kind::Hexes => made.lattice == Lattice::Hex,
                    Kind::Warps => made.warps,
                    Kind::Walls => !made.walls.is_empty(),
                    Kind::Holes => !made.holes.is_empty(),
                };
                assert!(has, "{kind} on {side}");
                assert!(is_fit(&board));
            }
        }
    }

    #[test]
    fn boards_in_two_pieces_and_dead_ends_are_not_fit() {
        let board = |walls: &[(Cell, Cell)], holes: &[Cell]| {
            Board::new(Description {
                rows: 3,
                cols: 4,
                walls: walls.to_vec(),
                holes: holes.to_vec(),
                ..Description::default()
            })
            .expect("a board")
        };
        assert!(is_fit(&board(&[], &[])));
        assert!(!is_fit(&board(&[(1, 2), (5, 6), (9, 10)], &[])));
        assert!(!is_fit(&board(&[(0, 1)], &[])));
        assert!(!is_fit(&board(&[], &[1])));
    }
}
