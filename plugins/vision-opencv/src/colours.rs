//! Which terminals have one colour.
//!
//! Each colour has two terminals, so that nothing need be known of the game's paints: in a
//! perceptual space each terminal's nearest must have it as its own nearest, and be much nearer than
//! the second. Near paints (blue and dark blue, maroon and red) stay apart, and what is
//! ambiguous is refused.

use flowpipe_plugin::puzzle::{Cell, Colour, Terminal};

use crate::grid_lines::Grid;
use crate::picture::Rgb;
use crate::refusal::Refusal;
use crate::terminals::{distance, square_distance};

/// The partner is nearer than the second nearest by this factor.
const MARGIN: f64 = 0.5;

/// A point is of a paint when it is nearer to it than this share of how far the background is.
const PAINTED: f64 = 0.35;

/// The terminals with their colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Paints {
    /// By cell.
    pub terminals: Vec<Terminal>,
    /// By colour number.
    pub palette: Vec<Rgb>,
    /// How clear the worst pair is: 0 at the margin, 1 for two equal paints.
    pub clearness: f64,
}

/// Pairs terminals, given by cell ascending. Colours are numbered in order of first cells.
///
/// # Errors
/// [`Refusal::NoPartner`] for the first terminal that has no clear partner.
pub fn pair(found: &[(Cell, Rgb)], grid: &Grid) -> Result<Paints, Refusal> {
    let labs: Vec<[f64; 3]> = found.iter().map(|&(_, colour)| lab(colour)).collect();
    let nearest: Vec<Option<(usize, f64)>> = (0..labs.len())
        .map(|index| nearest_two(&labs, index))
        .collect();
    let mut terminals = Vec::with_capacity(found.len());
    let mut palette = Vec::with_capacity(found.len() / 2);
    let mut clearness: f64 = 1.0;
    for (index, &(cell, colour)) in found.iter().enumerate() {
        let no_partner = Refusal::NoPartner {
            row: cell / grid.cols() + 1,
            col: cell % grid.cols() + 1,
        };
        let Some((partner, ratio)) = nearest[index] else {
            return Err(no_partner);
        };
        let mutual = nearest[partner].is_some_and(|(back, _)| back == index);
        if !mutual || ratio > MARGIN {
            return Err(no_partner);
        }
        clearness = clearness.min(1.0 - ratio / MARGIN);
        if index < partner {
            let number = palette.len() as Colour;
            palette.push(mean(colour, found[partner].1));
            terminals.push(Terminal {
                cell,
                colour: number,
            });
            terminals.push(Terminal {
                cell: found[partner].0,
                colour: number,
            });
        }
    }
    terminals.sort_unstable();
    Ok(Paints {
        terminals,
        palette,
        clearness,
    })
}

/// The nearest other one, and its distance as a share of the second nearest's. A single pair is
/// held against black, which a board's background is near to.
fn nearest_two(labs: &[[f64; 3]], index: usize) -> Option<(usize, f64)> {
    let mut others: Vec<(f64, usize)> = (0..labs.len())
        .filter(|&other| other != index)
        .map(|other| (apart(labs[index], labs[other]), other))
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(first, partner) = others.first()?;
    let second = others
        .get(1)
        .map_or_else(|| apart(labs[index], [0.0; 3]), |other| other.0);
    // Equal paints that are four are as ambiguous as can be.
    let ratio = if second > 0.0 { first / second } else { 1.0 };
    Some((partner, ratio))
}

fn mean(a: Rgb, b: Rgb) -> Rgb {
    std::array::from_fn(|channel| a[channel].midpoint(b[channel]))
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

/// How far apart two paints look (CIE 1976).
fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// sRGB (IEC 61966-2-1) to CIELAB under D65.
fn lab(colour: Rgb) -> [f64; 3] {
    let [red, green, blue] = colour.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    });
    let x = 0.412_456 * red + 0.357_576 * green + 0.180_438 * blue;
    let y = 0.212_673 * red + 0.715_152 * green + 0.072_175 * blue;
    let z = 0.019_334 * red + 0.119_192 * green + 0.950_304 * blue;
    let [x, y, z] = [x / 0.950_47, y, z / 1.088_83].map(|value| {
        if value > 0.008_856 {
            value.cbrt()
        } else {
            7.787 * value + 16.0 / 116.0
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let lines: Vec<f64> = (0..9).map(f64::from).collect();
        Grid {
            xs: lines.clone(),
            ys: lines,
            cell: 1.0,
        }
    }

    fn palette(colours: &[Rgb]) -> Result<Vec<Rgb>, Refusal> {
        let found: Vec<(Cell, Rgb)> = colours.iter().copied().enumerate().collect();
        pair(&found, &grid()).map(|paints| paints.palette)
    }

    #[test]
    fn lab_is_that_of_the_standard() {
        // White, and the primary red of sRGB under D65 (Lindbloom's calculator).
        for (colour, expected) in [
            ([255; 3], [100.0, 0.0, 0.0]),
            ([255, 0, 0], [53.24, 80.09, 67.20]),
            ([0; 3], [0.0; 3]),
        ] {
            for (value, expected) in lab(colour).into_iter().zip(expected) {
                assert!(
                    (value - expected).abs() < 0.05,
                    "{colour:?}: {value} for {expected}"
                );
            }
        }
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
