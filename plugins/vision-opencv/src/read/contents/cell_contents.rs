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
use crate::read::contents::colours::{PipeLook, TerminalColours, painted, unpainted_within};
use crate::read::contents::drawings::Drawings;
use crate::read::contents::flat_end;
use crate::read::contents::rails::Rails;
use crate::read::contents::terminals::BoardColours;
use crate::read::contents::tiles;
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
                _ if ends_flat(look, places, looks, paints) => CellContent::Pipe,
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
    match paints.pipes {
        PipeLook::Painted => is_painted(look.middle, look, paints),
        PipeLook::Inked => is_inked(look, looks.faintest),
        PipeLook::Filled => tiles::filled(look, paints, looks.faintest).is_some(),
    }
}

/// Whether a line goes over the middle of a cell, be it as thin as a stroke of a number: the edges of such a line fall
/// on the places beside the very centre.
fn is_inked(look: &CellColours, faintest: f64) -> bool {
    let off = look.patch.map(|colour| distance(colour, look.background));
    let edges = off.iter().filter(|&&off| off > STROKE / 2.0 * faintest);
    off[off.len() / 2] > STROKE * faintest && edges.count() >= 3
}

/// Whether a pipe with a flat end comes to the middle of a cell.
fn ends_flat(
    look: &CellColours,
    places: &CellLayout<'_>,
    looks: &BoardColours,
    paints: &TerminalColours,
) -> bool {
    paints.pipes == PipeLook::Painted
        && flat_end::is_one(look, places, &paints.palette, looks.faintest)
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
