//! Pairs terminals by colour.
//!
//! Each colour has two terminals, so that the colours of the game need not be known: terminals are paired in CIELAB.
//! Near colours (blue and dark blue, maroon and red) stay apart. Ambiguous ones are refused.

use flowpipe_plugin::puzzle::{Cell, Terminal};

use crate::find::grid::Grid;
use crate::picture::Rgb;
use crate::picture::colour::{apart, distance, lab, mean, square_distance};
use crate::read::contents::pairing::Pairs;
use crate::refuse::refusal::Refusal;

/// The partner is nearer than the second nearest by this factor.
const MARGIN: f64 = 0.5;

/// Paints that are nearer than this in CIELAB may be one: noise and compression move a disc's mean by less.
const ALIKE: f64 = 4.0;

/// A point is of a paint when it is nearer to it than this share of how far the background is.
const PAINTED: f64 = 0.35;

/// The terminals with their colours.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalColours {
    /// By cell.
    pub terminals: Vec<Terminal>,
    /// By colour number.
    pub palette: Vec<Rgb>,
    /// What its pipes look like.
    pub pipes: PipeLook,
    /// How clear the worst pair is: 0 at the margin, 1 for two equal paints.
    pub clearness: f64,
}

/// What the pipes of a board look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeLook {
    /// Each is drawn from cell to cell with the paint of its terminals.
    Painted,
    /// As those, with a paint that is none of the terminals: these are numbers.
    Inked,
    /// Each fills its cells with the paint of its terminals.
    Filled,
}

/// Pairs terminals, given by cell ascending. Colours are numbered in order of first cells.
///
/// # Errors
/// [`Refusal::NoPartner`] for the first terminal that has no clear partner.
pub fn pair(found: &[(Cell, Rgb)], grid: &Grid) -> Result<TerminalColours, Refusal> {
    let labs: Vec<[f64; 3]> = found.iter().map(|&(_, colour)| lab(colour)).collect();
    // A single pair is compared with black, which a board's background is near to.
    let lone = |index: usize| apart(labs[index], [0.0; 3]);
    let pairs = Pairs::find(
        labs.len(),
        MARGIN,
        ALIKE,
        |a, b| apart(labs[a], labs[b]),
        lone,
    )
    .map_err(|index| no_partner(found[index].0, grid))?;
    let paint = |&(a, b): &(usize, usize)| mean(found[a].1, found[b].1);
    Ok(TerminalColours {
        terminals: pairs.terminals(|index| found[index].0),
        palette: pairs.pairs.iter().map(paint).collect(),
        pipes: PipeLook::Painted,
        clearness: pairs.clearness,
    })
}

/// That a terminal has none.
pub fn no_partner(cell: Cell, grid: &Grid) -> Refusal {
    Refusal::NoPartner {
        row: cell / grid.cols() + 1,
        col: cell % grid.cols() + 1,
    }
}

/// Whether a colour is a paint and not what is around it.
pub fn painted(colour: Rgb, paint: Rgb, background: Rgb) -> bool {
    f64::from(square_distance(colour, paint))
        < PAINTED * PAINTED * f64::from(square_distance(background, paint))
}

/// A colour that is nearer than this to the background of a cell is [`painted`] by none of the paints.
pub fn unpainted_within(palette: &[Rgb], background: Rgb) -> f64 {
    // The way from the background over the colour to the paint is no shorter than the one without
    // the detour.
    let to_paint = palette.iter().map(|&paint| distance(background, paint));
    (1.0 - PAINTED) * to_paint.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As near as the nearest of the real game's paints: the blue and the dark blue, in CIELAB.
    fn nearest_of_the_game() -> f64 {
        apart(lab([0, 0, 255]), lab([0, 0, 139])).min(apart(lab([0, 128, 0]), lab([0, 128, 128])))
    }

    /// Sixteen of these colours that are no nearer to each other than the real game's.
    fn distinct(colours: Vec<Rgb>) -> Vec<Rgb> {
        let mut chosen: Vec<Rgb> = Vec::new();
        for colour in colours {
            let is_far = |other: &Rgb| apart(lab(*other), lab(colour)) >= nearest_of_the_game();
            if chosen.len() < 16 && chosen.iter().all(is_far) {
                chosen.push(colour);
            }
        }
        chosen
    }

    proptest! {
        #[test]
        fn any_palette_is_paired_right_or_refused(
            colours in prop::collection::vec(any::<Rgb>(), 60),
            off in prop::collection::vec(prop::array::uniform3(-5_i16..=5), 32),
            order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let palette = distinct(colours);
            let order: Vec<usize> = order.into_iter().filter(|it| it / 2 < palette.len()).collect();
            let seen = |(cell, &index): (Cell, &usize)| {
                let (colour, off) = (palette[index / 2], off[index]);
                let value = |it: usize| (i16::from(colour[it]) + off[it]).clamp(0, 255) as u8;
                (cell, [0, 1, 2].map(value))
            };
            let found: Vec<(Cell, Rgb)> = order.iter().enumerate().map(seen).collect();
            let Ok(paints) = pair(&found, &grid()) else {
                return Ok(());
            };
            for terminal in &paints.terminals {
                let same = |other: &&Terminal| other.colour == terminal.colour;
                for other in paints.terminals.iter().filter(same) {
                    prop_assert_eq!(order[other.cell] / 2, order[terminal.cell] / 2);
                }
            }
        }
    }

    fn grid() -> Grid {
        let lines: Vec<f64> = (0..9).map(f64::from).collect();
        Grid::squares(lines.clone(), lines, 1.0)
    }

    fn palette(colours: &[Rgb]) -> Result<Vec<Rgb>, Refusal> {
        let found: Vec<(Cell, Rgb)> = colours.iter().copied().enumerate().collect();
        pair(&found, &grid()).map(|paints| paints.palette)
    }

    #[test]
    fn near_paints_stay_apart() {
        // Red and maroon, two blues, lime and green, white and grey, each a little off.
        let pairs: [Rgb; 8] = [
            [255, 0, 0],
            [165, 42, 42],
            [12, 41, 254],
            [0, 0, 139],
            [0, 255, 0],
            [0, 141, 0],
            [255, 255, 255],
            [159, 159, 189],
        ];
        let off = pairs.map(|colour| colour.map(|value: u8| value.saturating_sub(4)));
        let both: Vec<Rgb> = pairs.into_iter().chain(off).collect();
        assert_eq!(palette(&both).map(|palette| palette.len()), Ok(8));
    }

    #[test]
    fn what_is_ambiguous_has_no_partner() {
        let no_partner = |col| Err(Refusal::NoPartner { row: 1, col });
        // Four of one paint, a pair far apart, three paints in a row.
        assert_eq!(palette(&[[255, 0, 0]; 4]), no_partner(1));
        assert_eq!(palette(&[[255, 0, 0], [0, 0, 255]]), no_partner(1));
        let row = [
            [250, 0, 0],
            [250, 0, 0],
            [0, 0, 130],
            [0, 0, 170],
            [0, 0, 210],
            [0, 0, 250],
        ];
        assert_eq!(palette(&row), no_partner(3));
    }
}
