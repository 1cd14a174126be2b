//! Whether pipes seem to be drawn on a board that can't be read: a player can restart it then.

use flowpipe_plugin::puzzle::{Cell, Lattice};

use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::colour::distance;
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::terminals::BoardColours;
use crate::refuse::refusal::Refusal;

/// What goes over a side is seen at these shares of the way from one centre to the next, beyond terminals.
const OVER: [f64; 3] = [0.42, 0.5, 0.58];
/// It stands out from the background by at least this many levels.
const STANDS_OUT: f64 = 60.0;
/// On both sides it has one colour, up to this many levels.
const ALIKE: f64 = 40.0;

/// A refusal of a board of squares, with the first cell that a pipe seems to leave, if there is one and a restart may
/// help.
#[must_use]
pub fn explained(
    refusal: Refusal,
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    looks: &BoardColours,
) -> Refusal {
    let may_help = matches!(
        refusal,
        Refusal::StrangePipe { .. }
            | Refusal::StrangeCell { .. }
            | Refusal::Covered { .. }
            | Refusal::NoPartner { .. }
            | Refusal::OddTerminals(_)
    );
    let is_drawn = |cell: &Cell| is_left(*cell, picture, places, grid, looks);
    let square = may_help && grid.lattice == Lattice::Square;
    match square.then(|| (0..grid.len()).find(is_drawn)).flatten() {
        Some(cell) => Refusal::PartlyDrawn {
            row: cell / grid.cols() + 1,
            col: cell % grid.cols() + 1,
            why: Box::new(refusal),
        },
        None => refusal,
    }
}

/// Whether a pipe leaves a cell to the right or downwards.
fn is_left(
    cell: Cell,
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    looks: &BoardColours,
) -> bool {
    let cols = grid.cols();
    let right = (!(cell + 1).is_multiple_of(cols)).then_some(cell + 1);
    let below = (cell + cols < grid.len()).then_some(cell + cols);
    [right, below].into_iter().flatten().any(|other| {
        let backgrounds = [cell, other].map(|cell| looks.cells[cell].as_ref());
        let [Some(here), Some(there)] = backgrounds.map(|look| look.map(|look| look.background))
        else {
            return false;
        };
        let (from, to) = (places.centre(cell), places.centre(other));
        let colours = OVER.map(|share| {
            let point = [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]));
            places.soft(picture, point)
        });
        let [Some(before), Some(on), Some(behind)] = colours else {
            return false;
        };
        let stands_out = |colour| distance(colour, here).min(distance(colour, there)) > STANDS_OUT;
        [before, on, behind].into_iter().all(stands_out) && distance(before, behind) <= ALIKE
    })
}
