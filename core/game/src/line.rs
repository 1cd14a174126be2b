//! The cells that a straight drag enters, in order.

use flowpipe_puzzle::place::{cell_in_grid, lowered, reach};
use flowpipe_puzzle::{Board, Cell, Point};

/// Pointers further away than this many cells are taken to be this far away: it keeps the
/// arithmetic below finite and changes nothing on any board.
const FARTHEST: f64 = 1e6;

/// The cells that the line between two points enters, in the order in which it
/// does. A cell is entered where the line runs inside it at more than `margin` cells from its
/// border, so a line exactly through a corner enters neither of the cells beside it. Points that
/// are not finite enter nothing.
pub(crate) fn entered(board: &Board, from: Point, to: Point, margin: f64) -> Vec<Cell> {
    if from.iter().chain(&to).any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let from = from.map(|value| value.clamp(-FARTHEST, FARTHEST));
    let to = to.map(|value| value.clamp(-FARTHEST, FARTHEST));
    let line = Line {
        from,
        step: [to[0] - from[0], to[1] - from[1]],
    };
    let mut hits = Vec::new();
    for col in line.indices(X, (0.0, 1.0), board.cols(), board) {
        let Some(in_col) = line.within(X, col as f64, margin, (0.0, 1.0)) else {
            continue;
        };
        let low = lowered(board, col);
        let line = Line {
            from: [from[0], from[1] - low],
            ..line
        };
        for row in line.indices(Y, in_col, board.rows(), board) {
            let Some((time, _)) = line.within(Y, row as f64, margin, in_col) else {
                continue;
            };
            if let Some(cell) = cell_in_grid(board, row, col) {
                hits.push((time, cell));
            }
        }
    }
    hits.sort_by(|a, b| a.0.total_cmp(&b.0));
    hits.into_iter().map(|(_, cell)| cell).collect()
}

/// A line from a point, at times from 0 to 1.
#[derive(Clone, Copy)]
struct Line {
    from: Point,
    step: Point,
}

/// First and last time.
type Span = (f64, f64);

const X: usize = 0;
const Y: usize = 1;

impl Line {
    /// The grid indices along an axis that the line may pass during a span, within the board.
    fn indices(
        &self,
        axis: usize,
        (start, end): Span,
        count: usize,
        board: &Board,
    ) -> std::ops::RangeInclusive<i64> {
        let (a, b) = (
            self.from[axis] + self.step[axis] * start,
            self.from[axis] + self.step[axis] * end,
        );
        let reach = reach(board);
        // One more on either side costs nothing and forgives rounding.
        let first = (a.min(b).floor() as i64 - 1).max(-reach);
        first..=(a.max(b).floor() as i64 + 1).min(count as i64 - 1 + reach)
    }

    /// The part of a span during which the line is inside the cell `index` along an axis.
    fn within(&self, axis: usize, index: f64, margin: f64, (start, end): Span) -> Option<Span> {
        let (low, high) = (index + margin, index + 1.0 - margin);
        let (from, step) = (self.from[axis], self.step[axis]);
        if step == 0.0 {
            return (low <= from && from < high).then_some((start, end));
        }
        let (a, b) = ((low - from) / step, (high - from) / step);
        let span = (a.min(b).max(start), a.max(b).min(end));
        (span.0 < span.1).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Lattice;
    use flowpipe_puzzle::board::Description;
    use proptest::prelude::*;

    use super::*;
    use flowpipe_puzzle::place::{cell_at, centre};

    fn board() -> Board {
        Board::rectangle(4, 5).expect("a board")
    }

    #[test]
    fn straight_lines_pass_every_cell() {
        assert_eq!(
            entered(&board(), [0.5, 1.5], [4.5, 1.5], 0.1),
            [5, 6, 7, 8, 9]
        );
        assert_eq!(
            entered(&board(), [2.5, 3.5], [2.5, 0.5], 0.1),
            [17, 12, 7, 2]
        );
        assert_eq!(entered(&board(), [2.5, 0.5], [2.5, 0.5], 0.1), [2]);
    }

    #[test]
    fn a_line_through_a_corner_enters_no_side_cell() {
        for margin in [0.0, 0.1, 0.3] {
            assert_eq!(
                entered(&board(), [0.5, 0.5], [2.5, 2.5], margin),
                [0, 6, 12]
            );
        }
    }

    #[test]
    fn a_line_near_a_corner_enters_the_side_cell_beyond_the_margin() {
        // It passes cell 1 at most 0.3 / √2 away from its corner, 0.15 from both borders.
        let (from, to) = ([0.65, 0.35], [1.65, 1.35]);
        assert_eq!(entered(&board(), from, to, 0.1), [0, 1, 6]);
        assert_eq!(entered(&board(), from, to, 0.2), [0, 6]);
    }

    #[test]
    fn a_line_along_a_border_is_in_one_cell_a_step() {
        assert_eq!(entered(&board(), [0.5, 1.0], [2.5, 1.0], 0.0), [5, 6, 7]);
        assert_eq!(
            entered(&board(), [0.5, 1.0], [2.5, 1.0], 0.1),
            [] as [Cell; 0]
        );
    }

    #[test]
    fn holes_and_the_outside_are_not_entered() {
        let board = Board::new(Description {
            rows: 1,
            cols: 4,
            holes: vec![2],
            ..Description::default()
        })
        .expect("a board");
        assert_eq!(entered(&board, [-1e308, 0.5], [1e308, 0.5], 0.1), [0, 1, 3]);
        assert_eq!(
            entered(&board, [f64::NAN, 0.5], [3.5, 0.5], 0.1),
            [] as [Cell; 0]
        );
    }

    proptest! {
        /// The line agrees with looking at many points along it.
        #[test]
        fn the_line_is_what_dense_looking_sees(
            from in [-1.0..6.0f64, -1.0..5.0], to in [-1.0..6.0f64, -1.0..5.0],
            margin in 0.0..0.4f64, hex: bool, warps: bool,
        ) {
            let lattice = if hex { Lattice::Hex } else { Lattice::Square };
            let board = Board::new(Description {
                rows: 4, cols: 6, lattice, warps, ..Description::default()
            }).expect("a board");
            let cells = entered(&board, from, to, margin);
            let mut seen = Vec::new();
            for index in 0..=2000 {
                let time = f64::from(index) / 2000.0;
                let point = [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * time);
                let Some(cell) = cell_at(&board, point) else { continue };
                let [x, y] = centre(&board, cell);
                // On a board that warps the centre may be a board away.
                let off = |value: f64| (value - value.round()).abs();
                let inside = off(point[0] - x).max(off(point[1] - y)) < 0.5 - margin - 1e-9;
                if inside && seen.last() != Some(&cell) {
                    seen.push(cell);
                }
            }
            // Looking may miss a cell that is only grazed, never see another or another order.
            let mut rest = cells.iter();
            prop_assert!(seen.iter().all(|cell| rest.any(|other| other == cell)), "{cells:?} {seen:?}");
        }
    }
}
