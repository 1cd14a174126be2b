//! Boards of every kind: their tables, and where the search starts.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::{Graph, Puzzle};

use crate::owners::Owners;
use crate::shapes::{Domain, Shapes, using};
use crate::state::{Cell, State};
use crate::topology::Tables;

/// Boards given by a graph; what does not depend on the terminals is kept for the next puzzle.
#[derive(Default)]
pub struct Boards {
    board: Description,
    /// Where ways and turns lead.
    pub tables: Tables,
    /// The cells as they are without terminals.
    cells: Vec<Cell>,
    /// Shapes of each cell that its surroundings allow, whatever lies at the ends of the chains.
    possible: Vec<Domain>,
    /// Cells that imply something from the start.
    busy: Vec<u32>,
    /// By cell of the search.
    pub board_cell: Vec<u32>,
    /// The cells by the sum of their row and column.
    pub order: Vec<u32>,
}

impl Boards {
    /// Fits the tables to a puzzle's board.
    pub fn fit<S: Shapes>(&mut self, puzzle: &Puzzle) {
        let description = puzzle.board().description();
        if self.board == *description {
            return;
        }
        self.board.clone_from(description);
        let graph = puzzle.board().graph();
        self.link::<S>(graph);
        self.board_cell.clear();
        self.board_cell.push(0);
        let cells = (0..graph.len()).map(|node| graph.cell_of(node) as u32);
        self.board_cell.extend(cells);
        self.order.clear();
        self.order.extend(1..self.board_cell.len() as u32);
        let cols = description.cols;
        self.order.sort_by_key(|&cell| {
            let cell = self.board_cell[cell as usize] as usize;
            cell / cols + cell % cols
        });
        self.possible.clear();
        self.possible.push(0);
        self.cells.clear();
        self.cells.push(Cell::default());
        for at in 1..=graph.len() {
            let possible = self.possible::<S>(at);
            self.possible.push(possible);
            let needs_ahead = (0..S::WAYS)
                .filter(|&turn| self.tables.ahead[at][turn] != 0)
                .fold(0, |turns, turn| turns | 1 << turn);
            self.cells.push(Cell {
                domain: possible & !needs_ahead,
                known: self.missing::<S>(at) << S::WAYS,
                mate: at as u32,
                owner: 0,
            });
        }
        if description.warps {
            self.allow_endless_chains::<S>();
        }
        for at in 1..self.cells.len() {
            extend_chains::<S>(&mut self.cells, &self.possible, &self.tables, at);
        }
        self.busy.clear();
        for (at, cell) in self.cells.iter_mut().enumerate().skip(1) {
            let chains = ((1 << S::WAYS) - 1) << (2 * S::WAYS);
            let facts = S::facts(cell.domain);
            cell.known |= facts & chains;
            if cell.domain == 0 || facts & !cell.known != 0 {
                self.busy.push(at as u32);
            }
        }
    }

    /// Around a board that warps a chain of turns can meet itself: then it needs no end.
    fn allow_endless_chains<S: Shapes>(&mut self) {
        for turn in 0..S::WAYS {
            for start in 1..self.cells.len() {
                let goes_on = |&at: &usize| self.possible[at] >> turn & 1 != 0;
                let ahead =
                    |&at: &usize| Some(self.tables.ahead[at][turn] as usize).filter(goes_on);
                // Steps ahead never merge, so they come back to the start or they end.
                let mut chain = std::iter::successors(Some(start).filter(goes_on), ahead).skip(1);
                if chain.any(|at| at == start) {
                    self.cells[start].domain |= 1 << turn;
                }
            }
        }
    }

    fn link<S: Shapes>(&mut self, graph: &Graph) {
        let Tables {
            neighbour,
            ahead,
            behind,
        } = &mut self.tables;
        for table in [&mut *neighbour, &mut *ahead, &mut *behind] {
            table.clear();
            table.resize(graph.len() + 1, [0; 6]);
        }
        for node in 0..graph.len() {
            for link in graph.links(node) {
                neighbour[node + 1][usize::from(link.direction.0)] = link.node as u32 + 1;
            }
        }
        for cell in 1..=graph.len() {
            for turn in 0..S::WAYS {
                let other = (turn + S::WAYS / 2 - 1) % S::WAYS;
                let over = |first: usize, second: usize| {
                    let between = neighbour[cell][first] as usize;
                    neighbour[between][second] as usize
                };
                let across = over(turn, other);
                if across != 0 && across == over(other, turn) && across != cell {
                    ahead[cell][turn] = across as u32;
                    behind[across][turn] = cell as u32;
                }
            }
        }
    }

    /// Ways that lead nowhere.
    fn missing<S: Shapes>(&self, cell: usize) -> u32 {
        (0..S::WAYS)
            .filter(|&way| self.tables.neighbour[cell][way] == 0)
            .fold(0, |ways, way| ways | 1 << way)
    }

    /// Shapes whose ways exist and do not lead to two neighbours of each other.
    fn possible<S: Shapes>(&self, cell: usize) -> Domain {
        let neighbour = &self.tables.neighbour;
        let mut shapes = S::THROUGH & !using::<S>(self.missing::<S>(cell));
        for a in 0..S::WAYS {
            for b in a + 1..S::WAYS {
                let (from, to) = (neighbour[cell][a], neighbour[cell][b]);
                if from != 0 && to != 0 && neighbour[from as usize].contains(&to) {
                    shapes &= !(S::WITH[a] & S::WITH[b]);
                }
            }
        }
        shapes
    }

    /// Sets a puzzle on the fitted board up.
    pub fn set_up<S: Shapes>(&self, puzzle: &Puzzle, owners: &Owners, state: &mut State) {
        state.clear();
        state.cells.extend_from_slice(&self.cells);
        state.queue.extend_from_slice(&self.busy);
        let graph = puzzle.board().graph();
        let places = || {
            let terminals = puzzle.terminals().iter();
            // A terminal never lies on a bridge: its cell has one node.
            terminals.flat_map(|terminal| graph.nodes_of(terminal.cell).iter().map(|node| node + 1))
        };
        for (at, &owner) in places().zip(&owners.of_terminal) {
            let missing = self.missing::<S>(at);
            let cell = &mut state.cells[at];
            cell.owner = owner;
            cell.known = missing << S::WAYS;
            cell.domain = S::TERMINAL & !using::<S>(missing);
            state.queue.push(at as u32);
        }
        for at in places() {
            extend_chains::<S>(&mut state.cells, &self.possible, &self.tables, at);
        }
    }
}

/// Allows the turns of the chains that end at a cell.
fn extend_chains<S: Shapes>(cells: &mut [Cell], possible: &[Domain], tables: &Tables, at: usize) {
    for turn in 0..S::WAYS {
        if cells[at].domain & S::CHAIN[turn] == 0 {
            continue;
        }
        let mut behind = tables.behind[at][turn] as usize;
        loop {
            let cell = &mut cells[behind];
            let fresh = possible[behind] & !cell.domain & 1 << turn;
            if fresh == 0 || cell.owner != 0 {
                break;
            }
            cell.domain |= fresh;
            cell.known &= !(1 << (2 * S::WAYS + turn));
            behind = tables.behind[behind][turn] as usize;
        }
    }
}
