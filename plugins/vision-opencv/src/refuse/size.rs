//! The size of a board, as many rows and columns as the config allows, and of a picture.

use crate::config::Config;
use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::refuse::refusal::Refusal;

/// The most pixels of a picture: more than a row of two 8K screens has. A reading takes time and memory for each.
const MOST_PIXELS: usize = 72_000_000;
/// The most pixels of a side, which OpenCV can count in 16 bits.
const LONGEST_SIDE: usize = 32_000;

/// Refuses a picture that is larger than any screen.
///
/// # Errors
/// [`Refusal::PictureSize`].
pub fn check_picture(picture: &Picture<'_>) -> Result<(), Refusal> {
    let (width, height) = (picture.width(), picture.height());
    let fits = width.saturating_mul(height) <= MOST_PIXELS && width.max(height) <= LONGEST_SIDE;
    fits.then_some(())
        .ok_or(Refusal::PictureSize { width, height })
}

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

#[cfg(test)]
mod tests {
    use flowpipe_plugin::{Format, PixelInfo};

    use super::*;

    #[test]
    fn pictures_that_are_larger_than_screens_are_refused() {
        for (width, height, fits) in [
            (2 * 7680, 4320, true),
            (32_000, 2_160, true),
            (32_001, 1, false),
            (9_000, 9_000, false),
        ] {
            let bytes = vec![0; width * height];
            let info = PixelInfo::new(Format::Grey8, width as u32, height as u32);
            let picture = Picture::new(&bytes, info).unwrap();
            assert_eq!(check_picture(&picture).is_ok(), fits, "{width} x {height}");
        }
    }
}
