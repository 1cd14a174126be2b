//! Finds the grid of cells. The program draws it pixel by pixel, so that nothing is blurred or tilted.
//!
//! The left and upper edge of a cell are light if it is covered, and dark if it is open. The field lies in a recess with
//! dark and light edges too, so that all of them together are one area, mostly the largest of the window.

use flowpipe_plugin::Result;
use mines_game::field::MOST_CELLS;
use mines_game::message::Grid;
use opencv::core::Rect;

use crate::picture::{Mask, Picture};

/// Light and dark edges: red, green and blue.
const LIGHT: [u8; 3] = [255; 3];
const DARK: [u8; 3] = [153; 3];
const TOLERANCE: u8 = 5;

/// The least side of a cell in pixels: below, a mine has no highlight.
const LEAST_SIDE: i32 = 14;

/// Where a picture has the colours of edges.
pub struct Edges {
    /// Also the colour of a mine's highlight.
    pub light: Mask,
    dark: Mask,
}

/// What the edges of a cell show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It is covered.
    Raised,
    /// It is open.
    Sunk,
}

/// A grid and its size.
pub struct Found {
    /// Where it is.
    pub grid: Grid,
    /// How many rows of cells it has.
    pub rows: usize,
    /// How many columns it has.
    pub cols: usize,
}

impl Edges {
    /// # Errors
    /// When memory is short.
    pub fn of(picture: &Picture) -> Result<Self> {
        Ok(Self {
            light: picture.mask(LIGHT, TOLERANCE)?,
            dark: picture.mask(DARK, TOLERANCE)?,
        })
    }

    /// Finds the grid.
    ///
    /// # Errors
    /// When memory is short.
    pub fn find(&self) -> Result<Option<Found>> {
        let Some(recess) = self.light.largest_area(&self.dark)? else {
            return Ok(None);
        };
        for side in LEAST_SIDE..=recess.width.min(recess.height) / 3 {
            // The recess is a tenth of the border wide, and the border is one and a half cells wide.
            let recessed = (side * 3 / 2 / 10).max(1);
            let [width, height] = [recess.width, recess.height].map(|length| length - 2 * recessed);
            let (rows, cols) = (height / side, width / side);
            let is_whole = width % side == 0
                && height % side == 0
                && (rows as usize) * (cols as usize) <= MOST_CELLS;
            let grid = Grid {
                left: (recess.x + recessed) as u32,
                top: (recess.y + recessed) as u32,
                side: side as u32,
            };
            let found = Found {
                grid,
                rows: rows as usize,
                cols: cols as usize,
            };
            if is_whole && self.are_around(&found)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether there are edges around all cells.
    fn are_around(&self, found: &Found) -> Result<bool> {
        for cell in 0..found.rows * found.cols {
            if self.edge(found.cell(cell))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the middle of the left and the upper edge show.
    ///
    /// # Errors
    /// When the cell lies outside of the picture.
    pub fn edge(&self, cell: Rect) -> Result<Option<Edge>> {
        let (quarter, half) = (cell.width / 4, cell.width / 2);
        let left = Rect::new(cell.x, cell.y + quarter, 1, half);
        let upper = Rect::new(cell.x + quarter, cell.y, half, 1);
        let is_all = |mask: &Mask| {
            Ok::<_, flowpipe_plugin::Error>(mask.count(left)? + mask.count(upper)? == 2 * half)
        };
        Ok(if is_all(&self.light)? {
            Some(Edge::Raised)
        } else if is_all(&self.dark)? {
            Some(Edge::Sunk)
        } else {
            None
        })
    }
}

impl Found {
    /// The rectangle of a cell.
    #[must_use]
    pub fn cell(&self, index: usize) -> Rect {
        let Grid { left, top, side } = self.grid;
        let place = |start: u32, index: usize| (start + index as u32 * side) as i32;
        Rect::new(
            place(left, index % self.cols),
            place(top, index / self.cols),
            side as i32,
            side as i32,
        )
    }
}
