//! Ways along the grid, through the centres of cells.
//!
//! The first three versions of the pathfinding that the best known bot (M. Gao's flow-solver)
//! describes: every cell, every cell but the last terminal (see [`End`](crate::leg::End)), and turns
//! only.

use flowpipe_puzzle::Point;

use crate::leg::Leg;

/// Through the centre of every cell of a leg that is dragged.
#[must_use]
pub fn cells(leg: &Leg) -> Vec<Point> {
    centres(leg).to_vec()
}

/// Through the ends of what is dragged, and the centres of the cells where it turns.
#[must_use]
pub fn turns(leg: &Leg) -> Vec<Point> {
    let centres = centres(leg);
    let Some((&first, rest)) = centres.split_first() else {
        return Vec::new();
    };
    let mut way = vec![first];
    way.extend(turning_places(leg).map(|place| centres[place]));
    way.extend(rest.last());
    way
}

/// Where a leg turns: places in its cells that are dragged, without its ends.
pub(crate) fn turning_places(leg: &Leg) -> impl Iterator<Item = usize> + '_ {
    let windows = centres(leg).windows(3).enumerate();
    windows
        .filter(|(_, window)| !straight(window))
        .map(|(place, _)| place + 1)
}

fn centres(leg: &Leg) -> &[Point] {
    &leg.centres[..leg.dragged().len()]
}

/// Whether three centres lie on a line. They are multiples of half a unit, so that this is exact.
fn straight(window: &[Point]) -> bool {
    (0..2).all(|axis| window[0][axis] + window[2][axis] == 2.0 * window[1][axis])
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::board::Description;
    use flowpipe_puzzle::{Board, Lattice};

    use super::*;
    use crate::leg::{End, legs};

    #[test]
    fn squares_turn_at_right_angles() {
        let board = Board::rectangle(3, 3).expect("a board");
        let cells_of = |end| legs(&board, &[0, 1, 2, 5, 8], end).remove(0);
        let whole = cells_of(End::InLast);
        assert_eq!(turns(&whole), [[0.5, 0.5], [2.5, 0.5], [2.5, 2.5]]);
        assert_eq!(cells(&whole).len(), 5);
        let beside = cells_of(End::BesideTerminal);
        assert_eq!(turns(&beside), [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]]);
        assert_eq!(cells(&beside)[3], [2.5, 1.5]);
        assert!(turning_places(&beside).eq([2]));
    }

    #[test]
    fn hexes_go_straight_across_columns() {
        let board = Board::new(Description {
            rows: 3,
            cols: 3,
            lattice: Lattice::Hex,
            ..Description::default()
        })
        .expect("a board");
        // Down to the right twice, then down.
        let leg = legs(&board, &[0, 4, 5, 8], End::InLast).remove(0);
        assert_eq!(turns(&leg), [[0.5, 1.0], [2.5, 2.0], [2.5, 3.0]]);
    }
}
