//! Boards of tiles: a terminal is a tile with a ring on it, and a pipe fills the tiles of its cells.
//!
//! The ring is what the search for discs finds; the paint of a pipe is that of the tile below it.

use flowpipe_plugin::puzzle::{Cell, Colour};

use crate::find::grid::Grid;
use crate::picture::Rgb;
use crate::picture::colour::{distance, square_distance};
use crate::read::contents::cell_colours::CellColours;
use crate::read::contents::colours::{PipeLook, TerminalColours, pair};
use crate::read::contents::terminals::BoardColours;

/// Every point of a tile that a pipe fills differs from its paint by at most this share of what rings do.
const SAME: f64 = 0.3;
/// A tile differs by no more from the mean of the two of its paint, in levels: lights behind a board are not as flat.
const FLAT: f64 = 8.0;

/// The terminals with the paints of their tiles, where all are rings on tiles, two of each paint.
#[must_use]
pub fn pairs(looks: &BoardColours, grid: &Grid) -> Option<TerminalColours> {
    let terminals = looks.there().filter(|(_, look)| look.terminal.is_some());
    let tiles: Option<Vec<(Cell, Rgb)>> = terminals
        .map(|(cell, look)| Some((cell, look.tile?)))
        .collect();
    let tiles = tiles?;
    let paints = pair(&tiles, grid).ok()?;
    let is_flat = |&(cell, tile): &(Cell, Rgb)| {
        let mut terminals = paints.terminals.iter();
        let own = terminals.find(|terminal| terminal.cell == cell);
        own.is_some_and(|it| distance(paints.palette[usize::from(it.colour)], tile) < FLAT)
    };
    tiles.iter().all(is_flat).then_some(TerminalColours {
        pipes: PipeLook::Filled,
        ..paints
    })
}

/// The colour of the pipe that fills a cell. `faintest`: how far the faintest ring stands out from its tile.
#[must_use]
pub fn filled(look: &CellColours, paints: &TerminalColours, faintest: f64) -> Option<Colour> {
    let palette = paints.palette.iter().enumerate();
    let (number, &paint) =
        palette.min_by_key(|(_, paint)| square_distance(**paint, look.middle))?;
    // The corners may reach beyond the tile.
    let mut points = look.ring.iter().chain([&look.middle]);
    let is_paint = |&point: &Rgb| distance(point, paint) < SAME * faintest;
    points.all(is_paint).then_some(number as Colour)
}
