//! The size of a board: as many rows and columns as the config allows.

use crate::config::Config;
use crate::find::grid::Grid;
use crate::refuse::refusal::Refusal;

/// Refuses a grid that has fewer or more cells a side than boards have.
///
/// # Errors
/// [`Refusal::Size`].
pub fn check(grid: &Grid, config: &Config) -> Result<(), Refusal> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let (min, max) = (config.min_cells, config.max_cells);
    let fits = rows.min(cols) >= min && rows.max(cols) <= max;
    fits.then_some(()).ok_or(Refusal::Size {
        rows,
        cols,
        min,
        max,
    })
}
