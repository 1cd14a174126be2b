//! A point in every cell: for games that fill in nothing between two pointer events.

use flowpipe_puzzle::{Lattice, Point, place};

use crate::leg::Leg;

/// A way with a point in every cell that it passes: where no point of the way lies in a cell's inner part,
/// one is added in the middle of the way through that part. So each cell has a point well away from
/// its border, in the order of the cells, and the way stays the same line.
///
/// The way must pass through the inner part (the cell shrunk to `inner` about its centre) of each cell
/// of the leg that is dragged, in their order, as every way of this crate does.
#[must_use]
pub fn every_cell(lattice: Lattice, inner: f64, leg: &Leg, way: &[Point]) -> Vec<Point> {
    let Some(&first) = way.first() else {
        return Vec::new();
    };
    let mut traced = Vec::with_capacity(way.len() + leg.cells.len());
    traced.push(first);
    let mut segment = 0;
    for &centre in &leg.centres[..leg.dragged().len()] {
        // Parts lie apart from each other, so that a segment that has not come to this one yet has no
        // more to do with any.
        while let Some(&[from, to]) = way.get(segment..segment + 2) {
            match passes(lattice, inner, centre, from, to) {
                Some(Passage::EndsInside) => break,
                Some(Passage::Through(middle)) => {
                    traced.push(middle);
                    break;
                }
                None => {
                    traced.push(to);
                    segment += 1;
                }
            }
        }
    }
    traced.extend(way.get(segment + 1..).unwrap_or_default());
    traced
}

/// How a segment passes an inner part.
enum Passage {
    /// It begins or ends there.
    EndsInside,
    /// Its way through has this middle.
    Through(Point),
}

/// What lies apart by less, as a share of a segment or in cells, may touch.
const ROUNDING: f64 = 1e-9;

/// Cyrus and Beck, "Generalized two- and three-dimensional clipping", 1978.
fn passes(lattice: Lattice, inner: f64, centre: Point, from: Point, to: Point) -> Option<Passage> {
    let corners = place::corners(lattice);
    let corner = |index: usize| {
        let corner = corners[index % corners.len()];
        [0, 1].map(|axis| centre[axis] + inner * corner[axis])
    };
    let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
    for side in 0..corners.len() {
        let (a, b) = (corner(side), corner(side + 1));
        let [along_x, along_y] = [b[0] - a[0], b[1] - a[1]];
        // How far inside of this side a point is, except for the side's length.
        let inside = |point: Point| along_x * (point[1] - a[1]) - along_y * (point[0] - a[0]);
        let (begin, end) = (inside(from), inside(to));
        let change = end - begin;
        if change.abs() < ROUNDING {
            if begin < -ROUNDING {
                return None;
            }
            continue;
        }
        let crossing = -begin / change;
        if change > 0.0 {
            enters = enters.max(crossing);
        } else {
            leaves = leaves.min(crossing);
        }
    }
    if enters > leaves + ROUNDING {
        return None;
    }
    if enters < ROUNDING || leaves > 1.0 - ROUNDING {
        return Some(Passage::EndsInside);
    }
    let middle = (enters + leaves) / 2.0;
    Some(Passage::Through(
        [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * middle),
    ))
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Board;

    use super::*;
    use crate::leg::{End, legs};

    fn traced(cells: &[usize], way: &[Point]) -> Vec<Point> {
        let board = Board::rectangle(4, 4).expect("a board");
        let leg = legs(&board, cells, End::InLast).remove(0);
        every_cell(Lattice::Square, 2.0 / 3.0, &leg, way)
    }

    fn assert_near(traced: &[Point], wanted: &[Point]) {
        assert_eq!(traced.len(), wanted.len(), "{traced:?}");
        for (a, b) in traced.iter().zip(wanted) {
            let away = (a[0] - b[0]).abs().max((a[1] - b[1]).abs());
            assert!(away < 1e-12, "{traced:?} {wanted:?}");
        }
    }

    #[test]
    fn straight_on_it_is_the_middle() {
        let way = [[0.5, 0.6], [3.5, 0.4]];
        let all = [[0.5, 0.6], [1.5, 1.6 / 3.0], [2.5, 1.4 / 3.0], [3.5, 0.4]];
        assert_near(&traced(&[0, 1, 2, 3], &way), &all);
    }

    #[test]
    fn a_cell_that_holds_a_vertex_is_traced() {
        let way = [[0.5, 0.5], [2.6, 0.5], [2.6, 2.5]];
        let all = [[0.5, 0.5], [1.5, 0.5], [2.6, 0.5], [2.6, 1.5], [2.6, 2.5]];
        assert_near(&traced(&[0, 1, 2, 6, 10], &way), &all);
    }

    #[test]
    fn a_vertex_between_two_cells_traces_neither() {
        // It turns just before the border between the first two cells.
        let way = [[0.3, 0.4], [0.9, 0.5], [2.5, 0.5]];
        let on_way = traced(&[0, 1, 2], &way);
        assert_near(&on_way, &[[0.3, 0.4], [0.9, 0.5], [1.5, 0.5], [2.5, 0.5]]);
    }

    #[test]
    fn a_cell_that_is_only_touched_is_traced_there() {
        // Two to the right and one down, by way of corners of inner squares.
        let sixth = 1.0 / 6.0;
        let way = [[0.5, 0.5], [2.0 - sixth, 1.0 + sixth]];
        let touched = [1.0 + sixth, 1.0 - sixth];
        assert_near(&traced(&[0, 1, 5], &way), &[way[0], touched, way[1]]);
    }

    #[test]
    fn a_way_along_the_side_of_a_hexagon_has_the_middle_of_the_side() {
        use flowpipe_puzzle::board::Description;
        let board = Board::new(Description {
            rows: 5,
            cols: 5,
            lattice: Lattice::Hex,
            ..Description::default()
        })
        .expect("a board");
        let leg = legs(&board, &[17, 18, 13], End::InLast).remove(0);
        // Parallel to a side, except for rounding.
        let way = [
            [2.730769230769231, 4.153846153846154],
            [3.7980769230769234, 2.552884615384615],
        ];
        let on_way = every_cell(Lattice::Hex, 0.5, &leg, &way);
        assert_near(&on_way, &[way[0], [3.25, 3.375], way[1]]);
    }

    #[test]
    fn no_way_has_no_points() {
        assert!(traced(&[0, 1], &[]).is_empty());
        assert_eq!(traced(&[0, 1], &[[0.5, 0.5]]), [[0.5, 0.5]]);
    }
}
