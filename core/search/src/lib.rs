//! The dedicated search: the solutions of a puzzle whose flows cover every cell and never touch
//! themselves, every one of them, on any board of the model.
//!
//! It takes every puzzle as if its rules were these two ([`Rules::default`]). For a puzzle with laxer rules what
//! it finds are solutions too, but there may be others.
//!
//! # How it works
//! - Each cell has a domain: the shapes that it can still have ([`shapes`]). Where every cell is
//!   covered and no flow touches itself, two neighbours of one flow are joined. So a turn leaves the cell
//!   ahead of it, across the corner, with no choice but to turn the same way or to be a terminal:
//!   every turn lies on a diagonal of turns that ends at a terminal.
//! - A table gives what a domain implies; [`propagate`] acts on what is new. Joined cells make
//!   fragments, whose ends know each other; a fragment with a colour joins or shuns its neighbours.
//! - What is left is searched along the diagonals ([`sweep`]), with a trail to go back ([`state`]); on large boards
//!   from two corners at once ([`job`]).
//!
//! # Layout
//! - [`shapes`]: squares and hexes. [`topology`]: which cell lies where.
//! - [`grid`], [`linked`]: plain rectangles and all other boards, made ready. [`owners`]: whose terminals.
//! - [`state`], [`propagate`], [`sweep`]: the search. [`job`]: one sweep or two. [`extract`]: a result as flows.
//!
//! [`Rules::default`]: flowpipe_puzzle::Rules

mod extract;
mod grid;
mod job;
mod linked;
mod owners;
mod propagate;
mod shapes;
mod state;
mod sweep;
mod topology;

use std::marker::PhantomData;

use flowpipe_puzzle::{Lattice, Puzzle, Solution};

use job::Job;
use owners::Owners;
use shapes::{Hex, Shapes, Square};
use state::State;
use topology::{Grid, Linked};

/// The search, with memory that is used again for the next puzzle.
#[derive(Default)]
pub struct Search {
    state: State,
    /// Of a second sweep.
    rival: State,
    owners: Owners,
    template: grid::Template,
    boards: linked::Boards,
}

/// When to stop, and what to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Stop after so many solutions; 2 decides whether the first is the only one.
    pub solutions: u64,
    /// So many solutions are returned.
    pub keep: usize,
    /// Stop after so many branchings of one sweep.
    pub nodes: Option<u64>,
}

impl Default for Limits {
    /// One solution, and whether it is the only one.
    fn default() -> Self {
        Self {
            solutions: 2,
            keep: 1,
            nodes: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The first [`Limits::keep`] solutions, each canonical, in ascending order when all were found.
    pub solutions: Vec<Solution>,
    /// How many were found.
    pub count: u64,
    /// Why the search ended.
    pub ended: Ended,
    /// Branchings of the sweep that answered.
    pub nodes: u64,
    /// Cells that it handled in propagation: a measure of difficulty.
    pub steps: u64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There are no more solutions.
    Complete,
    /// As many solutions as asked for were found; there may be more.
    Solutions,
    /// The limit of branchings was reached.
    Nodes,
    /// It was cancelled.
    Cancelled,
}

impl Search {
    /// A search without any memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches for solutions that cover every cell, with flows that do not touch themselves.
    /// The same puzzle with the same limits gives the same result, also where several solutions exist. `cancelled` is
    /// asked every few hundred microseconds.
    pub fn run(&mut self, puzzle: &Puzzle, limits: &Limits, cancelled: &dyn Fn() -> bool) -> Found {
        self.owners.read(puzzle);
        let board = puzzle.board();
        if !board.is_plain_rectangle() {
            return match board.description().lattice {
                Lattice::Square => self.run_linked::<Square>(puzzle, limits, cancelled),
                Lattice::Hex => self.run_linked::<Hex>(puzzle, limits, cancelled),
            };
        }
        self.template.resize(board.rows(), board.cols());
        let (template, owners) = (&self.template, &self.owners);
        let grid = Grid::new(board.cols());
        let job = Job {
            puzzle,
            limits,
            groups: &owners.groups,
            topology: &grid,
            board_cell: &template.board_cell,
            at: |cell| template.at(cell),
            set_up: |state: &mut State| template.set_up(puzzle, owners, &grid, state),
            order: &template.order,
        };
        job.run(&mut self.state, &mut self.rival, cancelled)
    }

    fn run_linked<S: Shapes + Sync>(
        &mut self,
        puzzle: &Puzzle,
        limits: &Limits,
        cancelled: &dyn Fn() -> bool,
    ) -> Found {
        self.boards.fit::<S>(puzzle);
        let (boards, owners) = (&self.boards, &self.owners);
        let graph = puzzle.board().graph();
        let job = Job {
            puzzle,
            limits,
            groups: &owners.groups,
            topology: &Linked::<S> {
                tables: &boards.tables,
                shapes: PhantomData,
            },
            board_cell: &boards.board_cell,
            // A terminal never lies on a bridge: its cell has one node.
            at: |cell| graph.nodes_of(cell).first().map_or(0, |node| node + 1),
            set_up: |state: &mut State| boards.set_up::<S>(puzzle, owners, state),
            order: &boards.order,
        };
        job.run(&mut self.state, &mut self.rival, cancelled)
    }
}
