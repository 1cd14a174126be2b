//! What cells without a terminal hold: a piece of pipe, or nothing.
//!
//! A pipe has the paint of its terminals. The lights behind the board are dimmer than any paint, and
//! without one they leave a cell empty. A thin drawing in an empty cell (a bridge, a digit, a mark) means
//! a kind of board that this reader does not know, and that must not pass for a plain one.

use crate::colours::{Paints, painted, unpainted_within};
use crate::grid_lines::Grid;
use crate::picture::Rgb;
use crate::refusal::Refusal;
use crate::terminals::{Look, Looks, distance};
use crate::thin::Thin;

/// The inner part of a cell that is looked at, in cells from its side.
const MARGIN: f64 = 0.2;
/// A drawing stands out by at least this share of what grid lines do.
const STRONG: f64 = 0.5;
/// It is at least this long, in cells.
const LONG: f64 = 0.3;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but background.
    Empty,
    /// A terminal.
    Terminal,
    /// A pipe passes or ends in the middle.
    Pipe,
}

/// What each cell holds, by index. `strength`: the [`line_strength`].
///
/// # Errors
/// [`Refusal::StrangeCell`].
pub fn contents(
    looks: &Looks,
    paints: &Paints,
    thin: &Thin<'_>,
    strength: f64,
    grid: &Grid,
) -> Result<Vec<Content>, Refusal> {
    let level = (STRONG * strength).max(1.0) as u8;
    let content = |(cell, look): (usize, &Look)| {
        let (row, col) = (cell / grid.cols(), cell % grid.cols());
        let strange = |what| Refusal::StrangeCell {
            row: row + 1,
            col: col + 1,
            what,
        };
        if look.terminal.is_some() {
            return Ok(Content::Terminal);
        }
        let of_a_paint = |colour| {
            paints
                .palette
                .iter()
                .any(|&paint| painted(colour, paint, look.background))
        };
        if of_a_paint(look.middle) {
            return Ok(Content::Pipe);
        }
        let unpainted = unpainted_within(&paints.palette, look.background);
        let is_strange = |&colour: &Rgb| {
            let off = distance(colour, look.background);
            off > looks.faintest || (off >= unpainted && of_a_paint(colour))
        };
        if look.ring.iter().chain([&look.middle]).any(is_strange) {
            return Err(strange("something that is neither a terminal nor a pipe"));
        }
        if drawn(thin, grid, row, col, level) {
            return Err(strange("a drawing that is neither a terminal nor a pipe"));
        }
        Ok(Content::Empty)
    };
    looks.cells.iter().enumerate().map(content).collect()
}

/// Whether there is a thin drawing inside a cell.
fn drawn(thin: &Thin<'_>, grid: &Grid, row: usize, col: usize, level: u8) -> bool {
    let inner = |lines: &[f64]| {
        let margin = MARGIN * (lines[1] - lines[0]);
        (lines[0] + margin, lines[1] - margin)
    };
    let length = thin.count(inner(&grid.xs[col..]), inner(&grid.ys[row..]), level);
    length > LONG * grid.cell
}

/// How much the grid lines stand out in grey, the middle one of samples beside each crossing.
#[must_use]
pub fn line_strength(thin: &Thin<'_>, grid: &Grid) -> f64 {
    // Wide enough for lines that are drawn double.
    let (off, reach) = (0.2 * grid.cell, 0.06 * grid.cell);
    let mut found: Vec<u8> = Vec::new();
    for &x in &grid.xs[..grid.cols()] {
        for &y in &grid.ys[..grid.rows()] {
            found.push(thin.strongest(x + off, y, reach));
            found.push(thin.strongest(x, y + off, reach));
        }
    }
    found.sort_unstable();
    found.get(found.len() / 2).copied().map_or(0.0, f64::from)
}
