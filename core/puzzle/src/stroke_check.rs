//! The one checker of strokes: before a mouse moves, its way is checked against the board.
//!
//! A stroke must lie strictly inside the cells that it names; on hexes those are the pointer's unit
//! squares (see [`place`](crate::place)). It may cross a border only from a cell into the stroke's next one, strictly
//! between the ends of what the two share (on hexes that may be half a side): to run along a border, to
//! touch it and turn back, or to go through a corner, is to leave the stroke's cells, since a pixel more
//! or less would be in another cell. It may turn on a border while it crosses it, but begins and ends
//! inside cells.
//!
//! On a board that warps a stroke may end one cell beyond an edge, where the pointer is in the cell at
//! the opposite edge. It begins where its first cell lies, so what follows on the other side is
//! another stroke.
//!
//! Whatever is accepted is so exactly: where rounding leaves it open on which side of a corner a
//! segment passes (closer than about 10⁻¹⁵ of a cell), it is refused.

mod way;

use thiserror::Error;

use crate::board::{Board, Cell};
use crate::colour::{self, Colour};
use crate::geometry::Point;
use crate::message::Stroke;
use crate::puzzle::Puzzle;
use crate::solution::Solution;

/// Why a stroke is refused. Its text counts strokes, points, rows and columns from 1.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("stroke {}: {problem}", .stroke + 1)]
#[non_exhaustive]
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
    /// A cell beyond the board's edge that is not the last: the stroke would go on beyond it, where no
    /// cells are.
    #[error("it goes over the board's edge into cell {cell} and on; it has to end there")]
    Beyond {
        /// The cell.
        cell: Cell,
    },
    /// The button stays down, but no stroke goes on from there.
    #[error(
        "the button stays down after it, but the next stroke does not go on with its colour from its last cell"
    )]
    HeldForNothing,
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

/// Checks strokes against the board and the solution that they draw. Each must press inside its first
/// cell, pass through its cells in their order and no others, and end inside the last. Its cells
/// must be a run of consecutive cells of one flow of its colour, in either direction; it need not be
/// the whole flow. A cell that the flow passes twice (a bridge) may be there twice. After a stroke that
/// is held comes one of its colour from its last cell. The solution itself is not checked here: see
/// [`check`](crate::check::check).
///
/// # Errors
/// The first problem of each stroke that has one, in their order.
pub fn check_strokes(
    puzzle: &Puzzle,
    solution: &Solution,
    strokes: &[Stroke],
) -> Result<(), Vec<StrokeRefusal>> {
    let refusals: Vec<StrokeRefusal> = strokes
        .iter()
        .enumerate()
        .filter_map(|(index, stroke)| {
            let checked = check_stroke(puzzle.board(), solution, stroke);
            let held = || check_hold(stroke, strokes.get(index + 1));
            let problem = checked.and_then(|()| held()).err()?;
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
    if stroke.cells.is_empty() {
        return Err(StrokeProblem::NoCells);
    }
    if stroke.points.is_empty() {
        return Err(StrokeProblem::NoPoints);
    }
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
    way::check(board, stroke)
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

fn check_hold(stroke: &Stroke, next: Option<&Stroke>) -> Result<(), StrokeProblem> {
    let goes_on =
        |next: &Stroke| next.colour == stroke.colour && next.cells.first() == stroke.cells.last();
    if stroke.held && !next.is_some_and(goes_on) {
        return Err(StrokeProblem::HeldForNothing);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
