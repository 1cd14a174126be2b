//! The strength of the lines of a board in the top-hat, by which they are recognized when the board turns.

use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::picture::top_hat::TopHat;

/// Crossings of lines that are examined: checking the whole board costs as much as reading it.
const CROSSINGS: usize = 12;

/// How much the lines of a board of squares stand out in grey, the middle one of samples beside crossings.
///
/// # Errors
/// When OpenCV fails, which needs more memory than there is.
pub fn line_strength(
    picture: &Picture<'_>,
    grid: &Grid,
    polarity: Polarity,
    thin: &mut TopHat,
) -> opencv::Result<f64> {
    // Wide enough for lines that are drawn double.
    let (off, reach) = (0.2 * grid.cell, 0.06 * grid.cell);
    let count = grid.len();
    let mut found: Vec<u8> = Vec::new();
    for index in 0..CROSSINGS.min(count) {
        // From the first to the last one: in steps that are rarely a whole number of rows.
        let crossing = index * count / CROSSINGS.min(count);
        let (x, y) = (
            grid.xs[crossing % grid.cols()],
            grid.ys[crossing / grid.cols()],
        );
        let size = off + 2.0 * reach + 4.0;
        let around = picture.region([x - reach - 2.0, y - reach - 2.0, size, size]);
        thin.look_at(picture, around, polarity)?;
        let seen = thin.thin()?;
        found.push(seen.strongest(x + off, y, reach));
        found.push(seen.strongest(x, y + off, reach));
    }
    found.sort_unstable();
    Ok(found.get(found.len() / 2).copied().map_or(0.0, f64::from))
}
