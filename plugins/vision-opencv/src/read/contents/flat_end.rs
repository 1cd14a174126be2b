//! Flat ends: a pipe that comes over one side of a cell and stops at the middle.
//!
//! Half of the middle is the pipe's then, or none of it. The ring around it shows the pipe in one direction only.

use flowpipe_plugin::puzzle::Direction;

use crate::picture::Rgb;
use crate::picture::colour::distance;
use crate::read::contents::cell_colours::{CellColours, DIRECTIONS, POINTS};
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::colours::painted;

/// The pipe takes this many points of the ring at least and at most: it is a fifth to two fifths of a cell wide.
const WIDTH: std::ops::RangeInclusive<usize> = POINTS / 10..=POINTS / 3;
/// The cosine of how far the middle of those may be from the middle of a side, as an angle.
const ASTRAY: f64 = 0.95;

/// Whether a pipe ends so. `faintest`: what stands out like a terminal, in levels.
#[must_use]
pub fn is_one(look: &CellColours, places: &CellLayout<'_>, palette: &[Rgb], faintest: f64) -> bool {
    palette.iter().any(|&paint| {
        let on = look
            .ring
            .map(|point| painted(point, paint, look.background));
        let begins = |index: usize| on[index] && !on[(index + POINTS - 1) % POINTS];
        let mut first = (0..POINTS).filter(|&index| begins(index));
        let (Some(first), None) = (first.next(), first.next()) else {
            return false;
        };
        let count = on.iter().filter(|on| **on).count();
        // The points beside it are mixed.
        let mut rest =
            (first + count + 1..first + POINTS - 1).map(|index| look.ring[index % POINTS]);
        let is_empty = |point: Rgb| {
            distance(point, look.background) <= faintest
                && !palette
                    .iter()
                    .any(|&paint| painted(point, paint, look.background))
        };
        WIDTH.contains(&count) && leads_to_side(first, count, places) && rest.all(is_empty)
    })
}

/// Whether the middle of some points of the ring, from a first one on, lies in the direction of the middle of a side.
fn leads_to_side(first: usize, count: usize, places: &CellLayout<'_>) -> bool {
    let points = (first..first + count).map(|index| DIRECTIONS[index % POINTS]);
    let (x, y) = points.fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    (0..places.corners() as u8).any(|way| {
        let side = places.side(Direction(way));
        (x * side[0] + y * side[1]) >= ASTRAY * x.hypot(y) * side[0].hypot(side[1])
    })
}
