//! Boards that warp: their edges wrap around where their borders are open.

use flowpipe_plugin::puzzle::Cell;

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::read::shape::cell_mask::CellMask;
use crate::read::shape::line_model::LineAppearance;
use crate::read::shape::sides::Sides;
use crate::read::shape::surroundings;

/// The borders of a board that warps.
pub struct OpenBorders {
    /// The walls between its opposite edges.
    pub walls: Vec<(Cell, Cell)>,
    /// The sides that are open.
    pub sides: Vec<usize>,
}

/// Where the borders of a board are open, so that it warps. `None` where no border is, or not all that look
/// so lead to one that does.
///
/// At an open side the grid lines go on a little beyond the border; a closed one is thick.
pub fn open_borders(
    picture: &Picture<'_>,
    grid: &Grid,
    cells: &CellMask,
    sides: &Sides,
    look: &LineAppearance,
) -> Option<OpenBorders> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let mut open = [vec![], vec![], vec![], vec![]];
    let mut open_sides = Vec::new();
    for (border, open) in Border::ALL.into_iter().zip(&mut open) {
        let stubs = surroundings::stubs(picture, grid, border, look);
        for (place, stubs) in stubs.windows(2).enumerate() {
            let cell = match border {
                Border::Upper => place,
                Border::Right => place * cols + cols - 1,
                Border::Lower => (rows - 1) * cols + place,
                Border::Left => place * cols,
            };
            let side = sides.of(cell).nth(border as usize)?;
            let is_closed = !cells.is_there[cell] || cells.is_thick[side];
            // Between two open sides the lines of both look as if a closed one was open too.
            let is_open = !is_closed && stubs == [true; 2];
            if !is_open && !is_closed {
                return None;
            }
            if is_open {
                open_sides.push(side);
            }
            open.push(is_open);
        }
    }
    let [upper, right, lower, left] = open;
    if upper != lower || left != right || open_sides.is_empty() {
        return None;
    }
    let down = (0..cols).filter(|&col| rows > 2 && !upper[col]);
    let across = (0..rows).filter(|&row| cols > 2 && !left[row]);
    let walls = down
        .map(|col| (col, (rows - 1) * cols + col))
        .chain(across.map(|row| (row * cols, row * cols + cols - 1)));
    Some(OpenBorders {
        walls: walls
            .filter(|&(a, b)| cells.is_there[a] && cells.is_there[b])
            .collect(),
        sides: open_sides,
    })
}
