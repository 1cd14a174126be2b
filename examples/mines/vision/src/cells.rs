//! Reads what each cell shows, by its edges and by the colours inside. Fonts do not matter: each number has its colour.

use flowpipe_plugin::Result;
use mines_game::field::Cell;
use opencv::core::Rect;

use crate::grid::{Edge, Edges};
use crate::picture::{Mask, Picture};

/// What is below all that is drawn on covered and on open cells: red, green and blue.
const COVERED: [u8; 3] = [230; 3];
const OPEN: [u8; 3] = [218; 3];
/// They differ by 12.
const TOLERANCE: u8 = 5;

/// The colours of the numbers from 1 on. Flags, and the cell of the mine that was hit, have that of 3; mines that of 7.
const NUMBERS: [[u8; 3]; 8] = [
    [0, 0, 255],
    [0, 128, 0],
    [255, 0, 0],
    [0, 0, 128],
    [128, 0, 0],
    [0, 128, 128],
    [0, 0, 0],
    [128, 128, 128],
];
const NUMBER_TOLERANCE: u8 = 20;

/// Where a picture has the colours of cells.
pub struct Colours {
    covered: Mask,
    open: Mask,
    numbers: Vec<Mask>,
}

impl Colours {
    /// # Errors
    /// When memory is short.
    pub fn of(picture: &Picture) -> Result<Self> {
        Ok(Self {
            covered: picture.mask(COVERED, TOLERANCE)?,
            open: picture.mask(OPEN, TOLERANCE)?,
            numbers: NUMBERS
                .iter()
                .map(|&colour| picture.mask(colour, NUMBER_TOLERANCE))
                .collect::<Result<_>>()?,
        })
    }

    /// Reads a cell. `None`: it shows something else, such as a flash.
    ///
    /// # Errors
    /// When it lies outside of the picture.
    pub fn read(&self, edges: &Edges, cell: Rect) -> Result<Option<Cell>> {
        let Some(edge) = edges.edge(cell)? else {
            return Ok(None);
        };
        let inset = cell.width / 10 + 1;
        let inside = Rect::new(
            cell.x + inset,
            cell.y + inset,
            cell.width - 2 * inset,
            cell.width - 2 * inset,
        );
        // In hundredths of the inside.
        let share = |mask: &Mask| {
            Ok::<_, flowpipe_plugin::Error>(mask.count(inside)? * 100 / inside.area())
        };
        let shares = self.numbers.iter().map(share).collect::<Result<Vec<_>>>()?;
        let [_, _, red, _, _, _, black, _] = shares[..] else {
            return Ok(None);
        };
        let light = edges.light.count(inside)?;
        Ok(match edge {
            Edge::Raised => match share(&self.covered)? {
                100 => Some(Cell::Covered),
                40.. if red >= 5 && black >= 5 => Some(Cell::Flag),
                _ => None,
            },
            // Only mines have a highlight, and only a wrong flag is red and black on the colour of open cells.
            Edge::Sunk => match share(&self.open)? {
                100 => Some(Cell::Open(0)),
                5.. if red >= 5 && black >= 10 => Some(Cell::WrongFlag),
                5.. if black >= 30 && light > 0 => Some(Cell::Mine),
                0 if red >= 15 && black >= 30 && light > 0 => Some(Cell::Exploded),
                30.. if light == 0 => number(&shares),
                _ => None,
            },
        })
    }
}

/// The number with the largest share of pixels, if there is no doubt.
fn number(shares: &[i32]) -> Option<Cell> {
    let (index, &most) = shares.iter().enumerate().max_by_key(|&(_, share)| share)?;
    let others = shares
        .iter()
        .enumerate()
        .filter(|&(other, _)| other != index);
    let next = others.map(|(_, &share)| share).max().unwrap_or(0);
    (most >= 4 && most >= 3 * next).then_some(Cell::Open(index as u8 + 1))
}
