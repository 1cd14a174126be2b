//! The full search: a board anywhere in a picture, with nothing known before.

use opencv::core::Rect;

use crate::cells::Beyond;
use crate::config::Config;
use crate::find_board::Shapes;
use crate::grid_lines::{self, Grid};
use crate::picture::Picture;
use crate::read::ReadError;
use crate::read_board::{Read, read_board};
use crate::refusal::Refusal;
use crate::thin::TopHat;

/// How much a line must stand out, as shares of the picture's contrast, in the order tried.
const LEVELS: [f64; 3] = [0.05, 0.12, 0.022];
/// Pictures with a longer side than this are made smaller first.
const LARGE: usize = 2600;

/// A board and where it was found.
pub struct Found {
    /// The board.
    pub read: Read,
    /// Its lines.
    pub grid: Grid,
    /// Frame pixels made one to find it.
    pub scale: u32,
}

/// Searches pictures, one after the other. It keeps nothing of them but memory.
#[derive(Default)]
pub struct Search {
    thin: TopHat,
    shapes: Shapes,
}

impl Search {
    /// Searches a picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    pub fn search(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
    ) -> Result<Result<Found, Refusal>, ReadError> {
        let longer = picture.width().max(picture.height());
        // Half size is enough for most boards and much faster; small ones need every pixel.
        let scales: &[u32] = if longer > LARGE { &[2, 1] } else { &[1] };
        let mut refusal = Refusal::NoShape;
        for &scale in scales {
            self.thin.look(picture, scale)?;
            let contrast = self.thin.contrast()?;
            for level in LEVELS {
                match self.try_level(picture, config, level * contrast)? {
                    Ok((read, grid)) => return Ok(Ok(Found { read, grid, scale })),
                    Err(Refusal::TwoBoards) => return Ok(Err(Refusal::TwoBoards)),
                    Err(new) if new.progress() > refusal.progress() => refusal = new,
                    Err(_) => {}
                }
            }
        }
        Ok(Err(refusal))
    }

    /// All shapes at one level.
    fn try_level(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        level: f64,
    ) -> Result<Result<(Read, Grid), Refusal>, ReadError> {
        let scale = self.thin.scale();
        let min_side = config.min_cells as f64 * f64::from(config.min_cell_pixels) / scale;
        let shapes = self.shapes.find(&self.thin, level, min_side as i32)?;
        let mut refusal = Refusal::NoShape;
        let mut found: Option<(Read, Grid)> = None;
        for shape in shapes {
            let grids = self.grids(shape, config)?;
            if grids.is_empty() && refusal.progress() < Refusal::NoGrid.progress() {
                refusal = Refusal::NoGrid;
            }
            for grid in grids {
                let bounds = grid.bounds();
                let overlaps = |(_, other): &(_, Grid)| overlap(bounds, other.bounds());
                if found.as_ref().is_some_and(overlaps) {
                    continue;
                }
                match (self.try_grid(picture, config, &grid)?, &found) {
                    (Ok(read), None) => found = Some((read, grid)),
                    (Ok(_), Some((_, first))) if area(bounds) > 0.5 * area(first.bounds()) => {
                        return Ok(Err(Refusal::TwoBoards));
                    }
                    (Err(new), _) if new.progress() > refusal.progress() => refusal = new,
                    _ => {}
                }
            }
        }
        Ok(found.ok_or(refusal))
    }

    fn grids(&self, shape: Rect, config: &Config) -> opencv::Result<Vec<Grid>> {
        grid_lines::find(self.shapes.mask(), shape, self.thin.scale(), config)
    }

    /// One grid.
    fn try_grid(
        &self,
        picture: &Picture<'_>,
        config: &Config,
        grid: &Grid,
    ) -> Result<Result<Read, Refusal>, ReadError> {
        let (rows, cols) = (grid.rows(), grid.cols());
        let (min, max) = (config.min_cells, config.max_cells);
        if rows.min(cols) < min || rows.max(cols) > max {
            return Ok(Err(Refusal::Size {
                rows,
                cols,
                min,
                max,
            }));
        }
        let thin = self.thin.thin()?;
        Ok(read_board(picture, &thin, grid, Beyond::Nothing)?)
    }
}

fn area([_, _, width, height]: [f64; 4]) -> f64 {
    width * height
}

/// Whether two rectangles share more than their rims.
fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    let shared =
        |axis: usize| (a[axis] + a[axis + 2]).min(b[axis] + b[axis + 2]) - a[axis].max(b[axis]);
    let rim = 0.02 * (a[2] + b[2]);
    shared(0) > rim && shared(1) > rim
}
