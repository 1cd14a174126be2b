//! The one checker of strokes: before a mouse moves, its way is held against the board.
//!
//! A stroke must lie strictly inside the cells that it names. A point may not lie on a border between
//! cells. A segment may cross a border only from a cell of the stroke into the next one, strictly
//! between the border's two ends: to run along a border, or through a corner, is to leave the
//! stroke's cells, since a pixel more or less would be in another cell.
//!
//! Whatever is accepted is so exactly: where rounding leaves it open on which side of a corner a
//! segment passes (closer than about 10⁻¹⁵ of a cell), it is refused.

use thiserror::Error;

use crate::board::{Board, Cell, Lattice};
use crate::colour::{self, Colour};
use crate::geometry::Point;
use crate::message::Stroke;
use crate::puzzle::Puzzle;
use crate::solution::Solution;

/// Why a stroke is refused. Its text counts strokes, points, rows and columns from 1.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("stroke {}: {problem}", .stroke + 1)]
pub struct StrokeRefusal {
    /// Index of the stroke.
    pub stroke: usize,
    /// What is wrong with it.
    pub problem: StrokeProblem,
}

/// What can be wrong with a stroke. Rows and columns count from 1, points are indices.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StrokeProblem {
    /// A kind of board that this checker does not know yet.
    #[error("strokes on {kind} can't be checked yet")]
    Unsupported {
        /// Hexes or warps.
        kind: &'static str,
    },
    /// No points: nowhere to press.
    #[error("it has no points")]
    NoPoints,
    /// No cells.
    #[error("it names no cells")]
    NoCells,
    /// A coordinate that is infinite or no number.
    #[error("point {} is not finite", .point + 1)]
    NotFinite {
        /// Index of the point.
        point: usize,
    },
    /// The cells do not follow each other in a flow of the stroke's colour.
    #[error("its cells are not a part of flow {} in the solution", colour::name(*.colour))]
    NotInFlow {
        /// The stroke's colour.
        colour: Colour,
    },
    /// One of its cells, and so of the solution's, is not on the board.
    #[error("cell {cell} is not on the board")]
    OffBoard {
        /// The cell.
        cell: Cell,
    },
    /// Two of the cells, and so of the solution's, do not touch.
    #[error("there is no passage from cell {from} to cell {to}")]
    Apart {
        /// One cell.
        from: Cell,
        /// The next.
        to: Cell,
    },
    /// The press is not inside the first cell.
    #[error(
        "the press at {}, {} is not inside its first cell, row {row}, column {col}", .point[0], .point[1]
    )]
    Press {
        /// Where it is, in board units.
        point: Point,
        /// Row from 1.
        row: usize,
        /// Column from 1.
        col: usize,
    },
    /// A segment leaves a cell otherwise than into the next one.
    #[error(
        "the way to point {} leaves row {row}, column {col} otherwise than into the next cell", .point + 1
    )]
    Leaves {
        /// Index of the point where the segment ends.
        point: usize,
        /// Row of the cell that is left, from 1.
        row: usize,
        /// Column of the cell that is left, from 1.
        col: usize,
    },
    /// The stroke ends before its last cell.
    #[error("it ends in row {row}, column {col}, before its last cell")]
    TooShort {
        /// Row of the cell where it ends, from 1.
        row: usize,
        /// Column of the cell where it ends, from 1.
        col: usize,
    },
}

/// Holds strokes against the board and the solution that they draw. Each must press inside its first
/// cell, pass through its cells in their order and no others, and end inside the last. Its cells
/// must be a run of consecutive cells of one flow of its colour, in either direction; it need not be
/// the whole flow. The solution itself is not checked here: see [`check`](crate::check::check).
///
/// # Errors
/// The first problem of each stroke that has one, in their order. On hexes and on boards that warp
/// every stroke is refused: they can't be checked yet.
pub fn check_strokes(
    puzzle: &Puzzle,
    solution: &Solution,
    strokes: &[Stroke],
) -> Result<(), Vec<StrokeRefusal>> {
    let refusals: Vec<StrokeRefusal> = strokes
        .iter()
        .enumerate()
        .filter_map(|(index, stroke)| {
            let problem = check_stroke(puzzle.board(), solution, stroke).err()?;
            Some(StrokeRefusal {
                stroke: index,
                problem,
            })
        })
        .collect();
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(refusals)
    }
}

fn check_stroke(board: &Board, solution: &Solution, stroke: &Stroke) -> Result<(), StrokeProblem> {
    if board.description().lattice == Lattice::Hex {
        return Err(StrokeProblem::Unsupported { kind: "hexes" });
    }
    if board.description().warps {
        return Err(StrokeProblem::Unsupported {
            kind: "a board that warps",
        });
    }
    if stroke.cells.is_empty() {
        return Err(StrokeProblem::NoCells);
    }
    let &[press, ..] = stroke.points.as_slice() else {
        return Err(StrokeProblem::NoPoints);
    };
    let not_finite = |point: &Point| !point.iter().all(|value| value.is_finite());
    if let Some(point) = stroke.points.iter().position(not_finite) {
        return Err(StrokeProblem::NotFinite { point });
    }
    if !is_part_of_flow(solution, stroke) {
        return Err(StrokeProblem::NotInFlow {
            colour: stroke.colour,
        });
    }
    if let Some(&cell) = stroke.cells.iter().find(|&&cell| !board.exists(cell)) {
        return Err(StrokeProblem::OffBoard { cell });
    }
    let step = |pair: &&[Cell]| !board.touch(pair[0], pair[1]);
    if let Some(pair) = stroke.cells.windows(2).find(step) {
        return Err(StrokeProblem::Apart {
            from: pair[0],
            to: pair[1],
        });
    }
    follow(board, stroke, press)
}

fn is_part_of_flow(solution: &Solution, stroke: &Stroke) -> bool {
    let reversed: Vec<Cell> = stroke.cells.iter().rev().copied().collect();
    let flows = solution
        .flows
        .iter()
        .filter(|flow| flow.colour == stroke.colour);
    flows
        .flat_map(|flow| flow.cells.windows(stroke.cells.len()))
        .any(|run| run == stroke.cells || run == reversed)
}

/// Goes along the points and keeps the cell in which the mouse is. A cell is convex, so that a segment
/// leaves it at one place only: either it ends inside, or that place must be the border to the next.
fn follow(board: &Board, stroke: &Stroke, press: Point) -> Result<(), StrokeProblem> {
    let mut at = 0;
    let place = |at: usize| {
        let (row, col) = board.row_col(stroke.cells[at]);
        (row + 1, col + 1)
    };
    if !inside(board, stroke.cells[0], press) {
        let (row, col) = place(0);
        return Err(StrokeProblem::Press {
            point: press,
            row,
            col,
        });
    }
    for (index, segment) in stroke.points.windows(2).enumerate() {
        let (from, to) = (segment[0], segment[1]);
        while !inside(board, stroke.cells[at], to) {
            let next = stroke.cells.get(at + 1);
            if !next.is_some_and(|&next| crosses(board, stroke.cells[at], next, from, to)) {
                let (row, col) = place(at);
                return Err(StrokeProblem::Leaves {
                    point: index + 1,
                    row,
                    col,
                });
            }
            at += 1;
        }
    }
    if at + 1 < stroke.cells.len() {
        let (row, col) = place(at);
        return Err(StrokeProblem::TooShort { row, col });
    }
    Ok(())
}

/// Whether a point lies in the open square of a cell.
fn inside(board: &Board, cell: Cell, [x, y]: Point) -> bool {
    let (row, col) = board.row_col(cell);
    let (top, left) = (row as f64, col as f64);
    left < x && x < left + 1.0 && top < y && y < top + 1.0
}

/// Whether a segment that comes from inside a cell, or through it from the one before, goes over the
/// border into the next cell, strictly between the border's ends.
fn crosses(board: &Board, cell: Cell, next: Cell, from: Point, to: Point) -> bool {
    let (row, col) = board.row_col(cell);
    let (next_row, next_col) = board.row_col(next);
    let (beyond, ends) = if row == next_row {
        let border = col.max(next_col) as f64;
        let beyond = if next_col > col {
            to[0] > border
        } else {
            to[0] < border
        };
        (beyond, [[border, row as f64], [border, row as f64 + 1.0]])
    } else {
        let border = row.max(next_row) as f64;
        let beyond = if next_row > row {
            to[1] > border
        } else {
            to[1] < border
        };
        (beyond, [[col as f64, border], [col as f64 + 1.0, border]])
    };
    let sides = ends.map(|end| side(from, to, end));
    beyond && matches!(sides, [Some(a), Some(b)] if a != b)
}

/// Whether a point lies to the left of a line; `None` if it lies on it or too near to be sure. The
/// bound on the rounding error is Shewchuk's ("Adaptive precision floating-point arithmetic and fast
/// robust geometric predicates", 1997, stage A); the smallest normal number covers underflow.
fn side(from: Point, to: Point, point: Point) -> Option<bool> {
    let left = (from[0] - point[0]) * (to[1] - point[1]);
    let right = (from[1] - point[1]) * (to[0] - point[0]);
    let half_ulp = f64::EPSILON / 2.0;
    let bound = (3.0 + 16.0 * half_ulp) * half_ulp * (left.abs() + right.abs()) + f64::MIN_POSITIVE;
    let determinant = left - right;
    (determinant.abs() > bound).then_some(determinant > 0.0)
}

#[cfg(test)]
mod tests;
