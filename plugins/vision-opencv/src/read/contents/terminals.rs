//! Finds the cells that hold a terminal which is a disc or a block.
//!
//! A pipe passes through the centres of cells too, so that a coloured centre alone is no terminal. A terminal is a disc
//! or a block two thirds of a cell wide, a pipe half as wide, the end of an unfinished pipe in between. A ring at a
//! quarter of a cell around the centre is on a terminal all round, and terminals are the largest such shapes. All
//! terminals of a board have one form.

use flowpipe_plugin::puzzle::Cell;

use crate::find::grid::Grid;
use crate::numerics::quantile::quantile;
use crate::picture::{Picture, Rgb};
use crate::read::contents::blob::{Blob, BlobForm, ROUND};
use crate::read::contents::cell_colours::CellColours;
use crate::read::contents::cell_layout::CellLayout;
use crate::read::shape::board_shape::BoardShape;
use crate::refuse::refusal::Refusal;

/// A terminal stands out by at least this share of what the middle one does.
const FAINTEST: f64 = 0.2;

/// All cells.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardColours {
    /// By cell index; `None` where there is no cell.
    pub cells: Vec<Option<CellColours>>,
    /// How many levels the faintest terminal differs from what is around it.
    pub faintest: f64,
}

/// Reads the colours of every cell that is there.
#[must_use]
pub fn look(
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    shape: &BoardShape,
) -> BoardColours {
    let look = |cell| {
        shape
            .has(cell)
            .then(|| CellColours::recall(picture, places, places.centre(cell)))
    };
    BoardColours {
        cells: (0..grid.len()).map(look).collect(),
        faintest: f64::INFINITY,
    }
}

impl BoardColours {
    /// Notes which of the cells hold a terminal, and gives how many do.
    ///
    /// # Errors
    /// [`Refusal::StrangeCell`], [`Refusal::OddTerminals`].
    pub fn find_terminals(
        &mut self,
        picture: &Picture<'_>,
        places: &CellLayout<'_>,
        grid: &Grid,
    ) -> Result<usize, Refusal> {
        let span = places.span;
        let mut blobs: Vec<(Cell, Blob)> = self
            .there()
            .filter_map(|(cell, look)| Some((cell, look.recall_blob(picture, places)?)))
            .collect();
        // The round end of a light's stripe looks like a disc that a pipe leaves, except for being faint, and
        // so do the edges of some lights.
        let middle = quantile(blobs.iter().map(|(_, blob)| blob.contrast), 0.5);
        // Rings on tiles stand out by a share of what the tile does, and no light has such a tile.
        let least_contrast = match blobs.iter().all(|(_, blob)| blob.tile.is_some()) {
            true => 0.0,
            false => FAINTEST * middle,
        };
        blobs.retain(|(_, blob)| !blob.covered || blob.contrast >= least_contrast);
        let blocks = blobs
            .iter()
            .filter(|(_, blob)| blob.form == BlobForm::Block);
        let form = match 2 * blocks.count() > blobs.len() {
            true => BlobForm::Block,
            false => BlobForm::Disc,
        };
        blobs.retain(|(_, blob)| blob.form == form);
        // Ends of unfinished pipes are discs as well, at most one for two terminals: so the disc at three
        // quarters of the order is a terminal.
        let radius = quantile(blobs.iter().map(|(_, blob)| blob.radius), 0.75);
        let least = radius * (1.0 - ROUND) - 0.5 / span;
        let most = radius * (1.0 + ROUND) + 0.5 / span;
        blobs.retain(|(_, blob)| blob.radius >= least);
        self.faintest = quantile(blobs.iter().map(|(_, blob)| blob.contrast), 0.0);
        for (cell, blob) in &blobs {
            let strange = |what| Refusal::StrangeCell {
                row: cell / grid.cols() + 1,
                col: cell % grid.cols() + 1,
                what,
            };
            if blob.contrast < least_contrast {
                return Err(strange("a disc too faint to be a terminal"));
            }
            if blob.radius > most {
                return Err(strange("a disc larger than the other terminals"));
            }
            if let Some(look) = &mut self.cells[*cell] {
                look.terminal = Some(blob.colour);
                look.tile = blob.tile;
            }
        }
        match blobs.len() {
            count if count % 2 != 0 => Err(Refusal::OddTerminals(count)),
            count => Ok(count),
        }
    }

    /// The terminals and their colours.
    pub fn terminals(&self) -> Vec<(Cell, Rgb)> {
        self.there()
            .filter_map(|(cell, look)| Some((cell, look.terminal?)))
            .collect()
    }

    /// The cells that are there.
    pub fn there(&self) -> impl Iterator<Item = (Cell, &CellColours)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(|(cell, look)| Some((cell, look.as_ref()?)))
    }
}
