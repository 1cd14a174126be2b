//! Whether a board goes on beyond a border of which only some pixels are in the picture.
//!
//! Where the border line itself is not seen any more, the lines that cross it would be, if they went on. Noise stands out
//! too: what does so beside these lines is subtracted.

use crate::find::border::Border;
use crate::find::border_line::BorderLine;
use crate::find::grid::Grid;
use crate::find::profile::{Orientation, StretchPlace};
use crate::numerics::quantile::quantile;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::shape::stretch::Stretch;

/// A row of pixels is beyond a border line if it has at most this share of the line.
const BEYOND: f64 = 0.5;
/// Lines end at a border if they stand out beyond it by at most this share of what they would if they went on.
const ENDS: f64 = 0.3;
/// They lead to the border if they stand out beside it by this share of what they do a cell farther inside.
const LEADS: f64 = 0.3;
/// What is beyond a border is examined up to this far from it, in cells.
const FAR: f64 = 0.3;
/// No line is this far from one that meets a border line, in cells: what stands out there is noise.
const ASIDE: f64 = 0.25;

/// What is seen beyond a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// The lines that meet the border end there.
    Ends,
    /// They may go on.
    GoesOn,
    /// The picture ends where the border line does, or before.
    Unknown,
    /// No lines lead to the border.
    NoLines,
}

impl Continuation {
    /// Examines the pixels between a border and the picture's edge near it.
    #[must_use]
    pub fn look(picture: &Picture<'_>, grid: &Grid, border: Border, polarity: Polarity) -> Self {
        let line = BorderLine::new(picture, grid, border);
        let across = match line.run {
            Orientation::Horizontal => Orientation::Vertical,
            Orientation::Vertical => Orientation::Horizontal,
        };
        let (at, size) = (line.at, line.size as i64);
        // How far the lines that meet it stand out, from one distance to another, or what is so many cells beside them.
        let stands_out = |asides: &[f64], from: f64, to: f64| {
            let inner = line.crossing[1..line.crossing.len() - 1].iter();
            let places = inner.flat_map(|&crossing| {
                let beside = asides.iter();
                beside.map(move |aside| crossing + aside * grid.cell)
            });
            let looks = places.map(|place| {
                let place =
                    StretchPlace::along(across, place, (from.min(to), from.max(to)), polarity);
                Stretch::look(picture, &place, grid.cell).contrast
            });
            quantile(looks, 0.5)
        };
        // How far the lines do so.
        let contrast = |from: f64, to: f64| {
            let noise = stands_out(&[-ASIDE, ASIDE], from, to);
            stands_out(&[0.0], from, to) - noise
        };
        // The brightness between them, where a line is bright.
        let level = |at: f64| {
            let places = line.stretches(at, polarity);
            let colours = places.filter_map(|place| place.profile(picture, 0).at(0));
            quantile(colours.map(|colour| colour.iter().sum()), 0.5)
        };
        let inside = |share: f64| at - share * grid.cell * line.outwards;
        let usual = contrast(inside(0.08), inside(0.27));
        if usual < LEADS * contrast(inside(1.08), inside(1.27)) {
            return Self::NoLines;
        }
        let background = level(inside(0.14));
        let near = (0.02 * grid.cell).max(1.0) as i64;
        let middle = at.floor() as i64;
        let peak = (middle - near..=middle + near)
            .filter(|pixel| (0..size).contains(pixel))
            .map(|pixel| level(pixel as f64))
            .fold(0.0, f64::max);
        // The whole pixels beyond the border, from its middle to the picture's edge.
        let far = FAR * grid.cell;
        let pixels = match line.outwards > 0.0 {
            true => at.ceil() as i64..size.min((at + far) as i64),
            false => ((at - far) as i64).max(0)..at.floor() as i64,
        };
        let (mut expected, mut seen) = (0.0, 0.0);
        for pixel in pixels {
            let pixel = pixel as f64;
            let share = (level(pixel) - background) / (peak - background).max(1.0);
            if share <= BEYOND {
                expected += (1.0 - share.max(0.0)) * usual;
                seen += contrast(pixel, pixel + 1.0);
            }
        }
        if expected <= 0.0 {
            Self::Unknown
        } else if seen <= ENDS * expected {
            Self::Ends
        } else {
            Self::GoesOn
        }
    }
}
