//! The content of cells without a terminal: a piece of pipe, a bridge, or nothing.
//!
//! A pipe has the colour of its terminals. The lights behind the board are dimmer than any terminal, so they leave a
//! cell empty. Rails near all corners, which neither pipes nor terminals reach, make a bridge. Any other thin drawing
//! in an empty cell ([`drawings`]) indicates an unknown kind of board, which is refused.
//!
//! [`drawings`]: crate::read::contents::drawings

use crate::find::grid::Grid;
use crate::picture::colour::distance;
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_colours::CellColours;
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::colours::{TerminalColours, painted, unpainted_within};
use crate::read::contents::drawings::Drawings;
use crate::read::contents::rails::Rails;
use crate::read::contents::terminals::BoardColours;
use crate::refuse::refusal::Refusal;

/// A pipe that has no paint stands out by this share of what the faintest terminal does.
const STROKE: f64 = 0.4;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellContent {
    /// Nothing but background, or there is no cell.
    Empty,
    /// A terminal.
    Terminal,
    /// A pipe passes or ends in the middle.
    Pipe,
    /// Two pipes may cross here.
    Bridge,
}

/// What each cell holds, by index. `contrast`: how far grid lines stand out.
///
/// # Errors
/// [`Refusal::StrangeCell`].
pub fn contents(
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    looks: &BoardColours,
    paints: &TerminalColours,
    contrast: f64,
) -> Result<Vec<CellContent>, Refusal> {
    let drawings = Drawings::new(picture, places, looks, contrast);
    let mut contents = vec![CellContent::Empty; grid.len()];
    for (cell, look) in looks.there() {
        let strange = |what| Refusal::StrangeCell {
            row: cell / grid.cols() + 1,
            col: cell % grid.cols() + 1,
            what,
        };
        contents[cell] = if look.terminal.is_some() {
            CellContent::Terminal
        } else {
            match (is_pipe(look, looks, paints), drawings.rails(cell, look)) {
                (_, Rails::All) => CellContent::Bridge,
                (true, _) => CellContent::Pipe,
                (false, _) if is_strange(look, looks, paints) => {
                    return Err(strange("something that is neither a terminal nor a pipe"));
                }
                (false, Rails::None) if !drawings.is_drawn(cell) => CellContent::Empty,
                (false, _) => {
                    return Err(strange("a drawing that is neither a terminal nor a pipe"));
                }
            }
        };
    }
    Ok(contents)
}

/// Whether a pipe goes over the middle of a cell.
fn is_pipe(look: &CellColours, looks: &BoardColours, paints: &TerminalColours) -> bool {
    if paints.on_pipes {
        is_painted(look.middle, look, paints)
    } else {
        distance(look.middle, look.background) > STROKE * looks.faintest
    }
}

fn is_painted(colour: Rgb, look: &CellColours, paints: &TerminalColours) -> bool {
    let mut palette = paints.palette.iter();
    palette.any(|&paint| painted(colour, paint, look.background))
}

/// Whether an empty cell shows what stands out like a terminal.
fn is_strange(look: &CellColours, looks: &BoardColours, paints: &TerminalColours) -> bool {
    let unpainted = unpainted_within(&paints.palette, look.background);
    let ring = look.ring.iter().chain([&look.middle]);
    let strange = ring.filter(|&&colour| {
        let off = distance(colour, look.background);
        off > looks.faintest || (off >= unpainted && is_painted(colour, look, paints))
    });
    strange.count() > 0
}
