//! Compares a grid with the picture: which cells exist, and where walls are.
//!
//! A cell exists if all of its sides are drawn. A line counts by its contrast with both sides, in the colour channel
//! that shows it best, so that tinted cells of a drawn pipe do not matter. A side that is drawn thicker than the others
//! has no passage: it is a wall, or the outline of a board that is no plain rectangle. A board that lacks cells and has
//! no thick outline is refused: something covers it.

use flowpipe_plugin::puzzle::{Cell, Lattice};

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::shape::board_shape::BoardShape;
use crate::read::shape::cell_mask::{CellMask, GridMismatch};
use crate::read::shape::line_model::{LineAppearance, LineModel, noise};
use crate::read::shape::sides::Sides;
use crate::read::shape::surroundings::{self, Surroundings};
use crate::read::shape::warp;
use crate::refuse::refusal::Refusal;

/// Rows and columns that may be hidden at a board's borders.
const MOST_ROWS_HIDDEN: usize = 4;

/// A grid that holds.
#[derive(Clone, Debug)]
pub struct CheckedGrid {
    /// Its lines.
    pub lines: LineAppearance,
    /// Which cells are there.
    pub shape: BoardShape,
    /// The grid, without rows and columns that have no cells.
    pub grid: Grid,
    /// The cells on both sides of lines that are not seen, where a bright tint may hide them.
    pub unseen: Vec<(Cell, Option<Cell>)>,
}

/// Checks all sides.
///
/// # Errors
/// [`Refusal::SidesMissing`], [`Refusal::GoesOn`], [`Refusal::MayGoOn`], [`Refusal::Covered`].
pub fn check(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Surroundings,
    polarity: Polarity,
) -> Result<CheckedGrid, Refusal> {
    let noise = noise(picture, grid, polarity);
    let mut grid = grid.clone();
    // Bright flows may hide the lines of a row or two, and a row of an irregular board may have few.
    let mut hidden = None;
    let rows_hidden = match grid.lattice {
        Lattice::Square => MOST_ROWS_HIDDEN,
        // Grids of hexagons are wider than their boards.
        Lattice::Hex => 0,
    };
    for _ in 0..rows_hidden {
        let Some(border) = surroundings::hides_cells(picture, &grid, polarity, noise) else {
            break;
        };
        hidden = hidden.or(Some(border));
        grid = grid.widened(border);
    }
    for _ in 0..=MOST_ROWS_HIDDEN {
        match check_all(picture, &grid, beyond, polarity, noise) {
            Ok((checked, None)) => return Ok(checked),
            Ok((checked, Some(border))) => {
                // Its continuation is decided by what is seen there.
                let wider = grid.widened(border);
                return Ok(match check_all(picture, &wider, beyond, polarity, noise) {
                    Ok((wider, _))
                        if wider.shape.cells(&wider.grid) > checked.shape.cells(&checked.grid) =>
                    {
                        wider
                    }
                    _ => checked,
                });
            }
            Err(GridMismatch::Wider(border)) => {
                hidden = hidden.or(Some(border));
                grid = grid.widened(border);
            }
            Err(GridMismatch::Refused(refusal)) if hidden.is_none() => return Err(refusal),
            Err(GridMismatch::Refused(_)) => break,
        }
    }
    Err(Refusal::GoesOn {
        side: hidden.map_or("upper", Border::name),
    })
}

/// Checks a grid whose size is known. It may be wider by a row or column beyond the border that is given.
fn check_all(
    picture: &Picture<'_>,
    grid: &Grid,
    beyond: Surroundings,
    polarity: Polarity,
    noise: f64,
) -> Result<(CheckedGrid, Option<Border>), GridMismatch> {
    let sides = Sides::look(picture, grid, polarity);
    let measure = LineModel::new(&sides, noise, grid).ok_or(Refusal::SidesMissing {
        missing: sides.all.len(),
        all: sides.all.len(),
        rows: grid.rows(),
        cols: grid.cols(),
        row: 1,
        col: 1,
    })?;
    let all_drawn = sides.all.iter().all(|side| measure.shows(side));
    let cells = CellMask::new(&sides, &measure, grid, all_drawn);
    let lines = measure.look(polarity, cells.sides(&sides));
    let whole = cells.is_there.iter().all(|there| *there);
    let mut shape = cells.shape(&sides);
    let open = match grid.lattice {
        Lattice::Square => warp::open_borders(picture, grid, &cells, &sides, &lines),
        Lattice::Hex => None,
    };
    let mut doubtful = None;
    if let Some(open) = &open {
        shape.warps = true;
        shape.walls.extend(&open.walls);
        shape.walls.sort_unstable();
    }
    if !whole || open.is_none() {
        let open = open.as_ref().map_or(&[][..], |open| &open.sides);
        doubtful = cells.check_outline(&sides, &measure, grid, all_drawn, open)?;
    }
    // A board that has walls has a thick outline too: without one, something only lies over thin lines.
    let mut unclear = sides.all.iter();
    if cells.is_thick.contains(&true)
        && let Some(side) =
            unclear.find(|side| cells.joins(side) && measure.thick().is_unclear(side))
    {
        return Err(GridMismatch::Refused(Refusal::Covered {
            row: side.cell / grid.cols() + 1,
            col: side.cell % grid.cols() + 1,
        }));
    }
    if whole && open.is_none() && grid.lattice == Lattice::Square {
        if let Some(border) = surroundings::goes_on(picture, grid, beyond, &lines) {
            let side = border.name();
            return Err(GridMismatch::Refused(Refusal::GoesOn { side }));
        }
        surroundings::check_edges(picture, grid, &lines)?;
    }
    let unseen = cells.sides(&sides).filter(|side| !measure.sees_all(side));
    let unseen: Vec<(Cell, Option<Cell>)> = unseen.map(|side| (side.cell, side.other)).collect();
    let whole = grid;
    let (grid, shape) = shape.trimmed(whole);
    let moved = |cell: Cell| grid.cell_near(whole.centre_of(cell));
    let unseen = unseen
        .into_iter()
        .filter_map(|(cell, other)| match (moved(cell), other.and_then(moved)) {
            (Some(cell), other) => Some((cell, other)),
            (None, Some(other)) => Some((other, None)),
            (None, None) => None,
        })
        .collect();
    let checked = CheckedGrid {
        lines,
        shape,
        grid,
        unseen,
    };
    Ok((checked, doubtful))
}
