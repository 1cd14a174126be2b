//! A flow as the pieces that are dragged without letting go.

use flowpipe_puzzle::geometry::Point;
use flowpipe_puzzle::{Board, Cell, place};

/// Where a way ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// In the last cell but one, in the half of its inner square that is near the border to the last
    /// cell: the game joins a pipe that stops beside its other terminal.
    #[default]
    BesideTerminal,
    /// Anywhere in the last cell's inner square.
    InLast,
}

/// A run of a flow's cells that is dragged in one piece, unfolded into the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// The cells, first to last, each a neighbour of the one before.
    pub cells: Vec<Cell>,
    /// Their centres in board units. On a board that warps the last one may lie one cell beyond an
    /// edge, where the pointer is in the cell at the opposite edge.
    pub centres: Vec<Point>,
    /// Where the way ends.
    pub end: End,
}

impl Leg {
    /// The cells that the pointer passes: all, without the last where the way ends beside it.
    #[must_use]
    pub fn dragged(&self) -> &[Cell] {
        let left_out = usize::from(self.end == End::BesideTerminal);
        &self.cells[..self.cells.len().saturating_sub(left_out)]
    }
}

/// Splits a flow, or a part of one, into legs: where it leaves the board over an edge, one leg ends in
/// the cell beyond the edge and the next begins with the same cell at its real place, with a new press
/// on the pipe's end. Boards that do not warp give one leg, and bridges need nothing.
///
/// `end` is how the last leg ends. All others end in their last cell, and so does a leg of two cells,
/// since a press without a drag draws nothing. Cells that do not touch begin a new leg too; fewer than
/// two cells give none.
#[must_use]
pub fn legs(board: &Board, cells: &[Cell], end: End) -> Vec<Leg> {
    let lattice = board.description().lattice;
    let mut legs = Vec::with_capacity(1);
    let begin = |cell: Cell| Leg {
        cells: vec![cell],
        centres: vec![place::centre(board, cell)],
        end: End::InLast,
    };
    let Some(&first) = cells.first() else {
        return legs;
    };
    let mut leg = begin(first);
    for step in cells.windows(2) {
        let (from, to) = (step[0], step[1]);
        let Some(direction) = place::direction(board, from, to) else {
            legs.push(std::mem::replace(&mut leg, begin(to)));
            continue;
        };
        let [x, y] = place::centre(board, from);
        let [dx, dy] = place::offset(lattice, direction);
        let unfolded = [x + dx, y + dy];
        leg.cells.push(to);
        leg.centres.push(unfolded);
        if unfolded != place::centre(board, to) {
            legs.push(std::mem::replace(&mut leg, begin(to)));
        }
    }
    if leg.cells.len() > 2 {
        leg.end = end;
    }
    legs.push(leg);
    legs.retain(|leg| leg.cells.len() > 1);
    legs
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Lattice;
    use flowpipe_puzzle::board::Description;

    use super::*;

    #[test]
    fn a_plain_flow_is_one_leg_that_stops_beside_the_terminal() {
        let board = Board::rectangle(3, 3).expect("a board");
        let legs = legs(&board, &[0, 1, 2, 5], End::BesideTerminal);
        assert_eq!(legs.len(), 1);
        assert_eq!(legs[0].dragged(), [0, 1, 2]);
        assert_eq!(legs[0].centres[3], [2.5, 1.5]);
    }

    #[test]
    fn two_cells_are_dragged_into_the_second() {
        let board = Board::rectangle(1, 2).expect("a board");
        let legs = legs(&board, &[1, 0], End::BesideTerminal);
        assert_eq!(legs[0].end, End::InLast);
        assert_eq!(legs[0].dragged(), [1, 0]);
    }

    #[test]
    fn over_an_edge_a_new_leg_begins() {
        let board = Board::new(Description {
            rows: 3,
            cols: 3,
            warps: true,
            ..Description::default()
        })
        .expect("a board");
        let legs = legs(&board, &[4, 3, 5, 8, 7], End::BesideTerminal);
        assert_eq!(legs.len(), 2);
        assert_eq!(legs[0].cells, [4, 3, 5]);
        assert_eq!(legs[0].centres[2], [-0.5, 1.5]);
        assert_eq!(legs[0].end, End::InLast);
        assert_eq!(legs[1].cells, [5, 8, 7]);
        assert_eq!(legs[1].centres[0], [2.5, 1.5]);
        assert_eq!(legs[1].dragged(), [5, 8]);
    }

    #[test]
    fn a_flow_that_ends_over_an_edge_has_no_leg_behind_it() {
        let board = Board::new(Description {
            rows: 3,
            cols: 4,
            lattice: Lattice::Hex,
            warps: true,
            ..Description::default()
        })
        .expect("a board");
        let legs = legs(&board, &[1, 0, 3], End::BesideTerminal);
        assert_eq!(legs.len(), 1);
        assert_eq!(legs[0].end, End::InLast);
        assert_eq!(legs[0].centres[2][0], -0.5);
    }

    #[test]
    fn too_few_cells_give_no_leg() {
        let board = Board::rectangle(2, 2).expect("a board");
        assert_eq!(legs(&board, &[], End::InLast), []);
        assert_eq!(legs(&board, &[1], End::InLast), []);
    }
}
