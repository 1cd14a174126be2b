//! Flows cut into what one stroke can draw.

use flowpipe_puzzle::{Board, Cell, Point, place};

/// A run of a flow's cells with their centres. The last may lie one cell beyond an edge.
#[derive(Clone, Debug)]
pub struct Leg {
    /// Its cells, at least two.
    pub cells: Vec<Cell>,
    /// Where they lie, in board units.
    pub centres: Vec<Point>,
}

/// Cuts a flow where it leaves the board over an edge: one leg ends beyond it, the next begins with the
/// same cell on the other side.
pub fn legs(board: &Board, cells: &[Cell]) -> Vec<Leg> {
    let start = |cell| Leg {
        cells: vec![cell],
        centres: vec![place::centre(board, cell)],
    };
    let mut legs = vec![start(cells[0])];
    for pair in cells.windows(2) {
        let way = place::direction(board, pair[0], pair[1]).unwrap();
        let step = place::offset(board.description().lattice, way);
        let here = place::centre(board, pair[0]);
        let reached = [here[0] + step[0], here[1] + step[1]];
        let leg = legs.last_mut().unwrap();
        leg.cells.push(pair[1]);
        leg.centres.push(reached);
        if reached != place::centre(board, pair[1]) {
            legs.push(start(pair[1]));
        }
    }
    // A flow that ends beyond an edge is whole there.
    legs.retain(|leg| leg.cells.len() > 1);
    legs
}
