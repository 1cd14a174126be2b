//! Plain rectangles: where the search starts.

use flowpipe_puzzle::Puzzle;

use crate::owners::Owners;
use crate::shapes::{Shapes, Square, using};
use crate::state::{Cell, State};
use crate::topology::{Grid, Topology};

/// The cells of a rectangle without terminals, kept for the next one of the same size.
#[derive(Default)]
pub struct Template {
    rows: usize,
    cols: usize,
    cells: Vec<Cell>,
    /// Cells along the sides, which imply something from the start.
    rim: Vec<u32>,
    /// By cell of the search.
    pub board_cell: Vec<u32>,
    /// The cells along the diagonals, from the top left corner.
    pub order: Vec<u32>,
}

const STRAIGHT: [u32; 2] = [1 << 4, 1 << 5];

impl Template {
    /// Fits the template to a size.
    pub fn resize(&mut self, rows: usize, cols: usize) {
        if (rows, cols) == (self.rows, self.cols) {
            return;
        }
        (self.rows, self.cols) = (rows, cols);
        let width = cols + 1;
        self.cells.clear();
        self.cells.resize((rows + 2) * width + 1, Cell::default());
        self.board_cell.clear();
        self.board_cell.resize(self.cells.len(), 0);
        self.rim.clear();
        self.order.clear();
        for diagonal in 0..rows + cols - 1 {
            let diagonal = (diagonal.saturating_sub(cols - 1)..rows.min(diagonal + 1))
                .map(|row| (row + 1) * width + diagonal - row + 1);
            self.order.extend(diagonal.map(|at| at as u32));
        }
        for row in 0..rows {
            for col in 0..cols {
                let at = (row + 1) * width + col + 1;
                self.board_cell[at] = (row * cols + col) as u32;
                let off = [row == 0, col + 1 == cols, row + 1 == rows, col == 0];
                let off = (0..4).fold(0, |set, way| set | u32::from(off[way]) << way);
                let cell = &mut self.cells[at];
                cell.domain = STRAIGHT[0] | STRAIGHT[1];
                for way in (0..4).filter(|way| off >> way & 1 != 0) {
                    cell.domain &= !Square::WITH[way];
                }
                // No turn can be, and no other cell expects one.
                cell.known = off << 4 | 0xf << 8;
                cell.mate = at as u32;
                if off != 0 {
                    self.rim.push(at as u32);
                }
            }
        }
    }

    /// Cell of the search by cell of the board.
    pub fn at(&self, cell: usize) -> usize {
        cell + cell / self.cols + self.cols + 2
    }

    /// Sets a puzzle up. A cell without a shape is found later, by the caller.
    pub fn set_up(&self, puzzle: &Puzzle, owners: &Owners, grid: &Grid, state: &mut State) {
        state.clear();
        state.cells.extend_from_slice(&self.cells);
        state.queue.extend_from_slice(&self.rim);
        for (terminal, &owner) in puzzle.terminals().iter().zip(&owners.of_terminal) {
            let at = self.at(terminal.cell);
            let cell = &mut state.cells[at];
            cell.owner = owner;
            cell.known &= 0xf << 4;
            cell.domain = Square::TERMINAL & !using::<Square>(cell.known >> 4);
            state.queue.push(at as u32);
        }
        for terminal in puzzle.terminals() {
            let at = self.at(terminal.cell);
            for turn in 0..4 {
                let mut behind = grid.behind(at, turn);
                loop {
                    let cell = &mut state.cells[behind];
                    if cell.mate == 0 || cell.owner != 0 {
                        break;
                    }
                    cell.domain |= 1 << turn;
                    cell.known &= !(1 << (8 + turn));
                    behind = grid.behind(behind, turn);
                }
            }
        }
    }
}
