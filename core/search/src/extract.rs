//! A solved state as flows.

use flowpipe_puzzle::{Flow, Puzzle, Solution};

use crate::shapes::Shapes;
use crate::state::State;
use crate::topology::Topology;

/// The solution that a fully decided state holds, in canonical order. `at` gives the cell of the search
/// by cell of the board, `board_cell` the other way round.
pub fn extract<T: Topology>(
    puzzle: &Puzzle,
    topology: &T,
    state: &State,
    at: impl Fn(usize) -> usize,
    board_cell: &[u32],
) -> Solution {
    let ways = T::Shapes::WAYS;
    let mut flows = Vec::with_capacity(puzzle.flow_count());
    // Terminals come by cell: each flow is met first at its end with the smaller index, and the
    // flows come out by their first cells.
    for terminal in puzzle.terminals() {
        let start = at(terminal.cell);
        let end = state.cells[start].mate as usize;
        if board_cell[end] as usize <= terminal.cell {
            continue;
        }
        let mut cells = Vec::with_capacity(16);
        cells.push(terminal.cell);
        let mut cell = start;
        let mut back = 0;
        while cell != end {
            let on = state.cells[cell].known & ((1 << ways) - 1) & !back;
            let way = on.trailing_zeros() as usize;
            cell = topology.neighbour(cell, way);
            back = 1 << ((way + ways / 2) % ways);
            cells.push(board_cell[cell] as usize);
        }
        flows.push(Flow {
            colour: terminal.colour,
            cells,
        });
    }
    Solution { flows }
}
