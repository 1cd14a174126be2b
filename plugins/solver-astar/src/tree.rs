//! All partial boards that were reached. Of each only the last move and where it came from is kept;
//! the board itself is made again when it is needed.

use std::collections::HashMap;

use flowpipe_plugin::puzzle::{Flow, Node, Solution};

use crate::partial::{Move, Partial};
use crate::problem::Problem;

/// The tree of boards; each is named by its index.
pub struct Tree {
    root: Partial,
    boards: Vec<Reached>,
    /// Boards by their hash. Different boards of one hash stand under the next free ones.
    by_hash: HashMap<u64, u32>,
    moves: Vec<Move>,
    again: Partial,
}

/// How a board was reached.
struct Reached {
    from: u32,
    by: Option<Move>,
}

impl Tree {
    /// The tree with the empty board in it, whose index is 0.
    pub fn new(root: Partial) -> Self {
        Self {
            by_hash: HashMap::from([(root.hash, 0)]),
            again: root.clone(),
            root,
            boards: vec![Reached { from: 0, by: None }],
            moves: Vec::new(),
        }
    }

    /// How many boards there are.
    pub fn len(&self) -> usize {
        self.boards.len()
    }

    /// Adds a board and gives its index, which the caller keeps below `u32::MAX`.
    pub fn add(&mut self, from: u32, by: Move) -> u32 {
        let index = u32::try_from(self.boards.len()).unwrap_or(u32::MAX);
        self.boards.push(Reached { from, by: Some(by) });
        index
    }

    /// Adds a board unless it is there already.
    pub fn add_new(
        &mut self,
        problem: &Problem<'_>,
        board: &Partial,
        from: u32,
        by: Move,
    ) -> Option<u32> {
        let mut hash = board.hash;
        while let Some(&index) = self.by_hash.get(&hash) {
            collect_moves(&self.boards, index, &mut self.moves);
            replay(problem, &self.root, &self.moves, &mut self.again);
            if self.again.is_same(board) {
                return None;
            }
            hash = hash.wrapping_add(1);
        }
        let index = self.add(from, by);
        self.by_hash.insert(hash, index);
        Some(index)
    }

    /// Makes a board again, in the place of another one.
    pub fn rebuild(&mut self, problem: &Problem<'_>, index: u32, board: &mut Partial) {
        collect_moves(&self.boards, index, &mut self.moves);
        replay(problem, &self.root, &self.moves, board);
    }

    /// A complete board as a solution.
    pub fn solution(&mut self, problem: &Problem<'_>, index: u32, board: &Partial) -> Solution {
        collect_moves(&self.boards, index, &mut self.moves);
        let mut arms: Vec<Vec<Node>> = problem.terminals.iter().map(|&node| vec![node]).collect();
        for &by in self.moves.iter().rev() {
            if let Move::Grow { arm, node } = by {
                arms[usize::from(arm)].push(usize::from(node));
            }
        }
        let graph = problem.puzzle.board().graph();
        let flow = |(arm, other): (usize, usize)| {
            let nodes = arms[arm].iter().chain(arms[other].iter().rev());
            Flow {
                colour: problem.colours[problem.colour_of[arm]].colour,
                cells: nodes.map(|&node| graph.cell_of(node)).collect(),
            }
        };
        let pairs = board
            .joined
            .iter()
            .enumerate()
            .filter_map(|(arm, other)| Some((arm, usize::from((*other)?))));
        Solution {
            flows: pairs.filter(|(arm, other)| arm < other).map(flow).collect(),
        }
        .canonical()
    }
}

/// The moves to a board, last first.
fn collect_moves(boards: &[Reached], mut index: u32, moves: &mut Vec<Move>) {
    moves.clear();
    while let Reached { from, by: Some(by) } = boards[index as usize] {
        moves.push(by);
        index = from;
    }
}

/// Makes the moves, the last one first, on a copy of the root.
fn replay(problem: &Problem<'_>, root: &Partial, moves: &[Move], board: &mut Partial) {
    board.clone_from(root);
    for &by in moves.iter().rev() {
        board.make(problem, by);
    }
}
