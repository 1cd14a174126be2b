//! Glyphs: the pictures of numbers.
//!
//! A glyph is sampled around its own centre of mass, so that its position in the pixels does not matter.

use flowpipe_plugin::puzzle::Point;

use crate::picture::cache::Measurement;
use crate::picture::colour::distance;
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_layout::CellLayout;
use crate::read::contents::numbers::marks::Marks;

/// How far from the centre a number may reach, in spans of the cell. Lines and pipes come from beyond.
pub(super) const REACH: f64 = 0.42;

/// The least contrast of a number, in levels.
const FAINT: f64 = 40.0;

/// A number is at least this high, in spans of the cell.
const HIGH: f64 = 0.28;

/// The middle of its box is within this of the cell's.
const ASIDE: f64 = 0.12;

/// The side of a picture of a number, in samples.
pub(super) const SIDE: usize = 28;

/// Where a number shows first, in spans from the centre: its lines are a fifteenth of a span wide.
const GLANCE: f64 = 0.06;

/// The number of samples to each side.
const GLANCES: i32 = 4;

/// The picture of a number: how much ink there is, about its centre of mass.
#[derive(Clone)]
pub struct Glyph {
    ink: [f32; SIDE * SIDE],
    /// The sum of its squares.
    energy: f32,
    pub(super) colour: Rgb,
    pub(super) contrast: f64,
}

impl Measurement for Glyph {
    type Value = Option<Self>;
}

impl Glyph {
    pub(super) fn find(
        picture: &Picture<'_>,
        places: &CellLayout<'_>,
        centre: Point,
        background: Rgb,
    ) -> Option<Self> {
        let span = places.span;
        if !shows(picture, span, centre, background) {
            return None;
        }
        let mut marks = Marks::look(picture, span, centre, background)?;
        // A pipe's soft edges go with it.
        marks.clear_from_rim(0.2 * marks.most);
        marks.most = marks.levels.iter().copied().fold(0.0, f64::max);
        let [left, top, right, bottom] = marks.bounds(0.5 * marks.most, span)?;
        let is_number = marks.most >= FAINT
            && bottom - top >= HIGH
            && (left + right).abs() / 2.0 <= ASIDE
            && (top + bottom).abs() / 2.0 <= ASIDE;
        if !is_number {
            return None;
        }
        let ink = marks.ink(2.0 * REACH * span / SIDE as f64);
        Some(Self {
            energy: ink.iter().map(|ink| ink * ink).sum(),
            ink,
            colour: marks.colour,
            contrast: marks.most,
        })
    }

    /// How much of the ink of two is not the same, from 0 to 1.
    pub(super) fn apart(&self, other: &Self) -> f64 {
        let both = self.ink.iter().zip(&other.ink);
        let differs: f32 = both.map(|(a, b)| (a - b) * (a - b)).sum();
        f64::from(differs / (self.energy + other.energy).max(1.0))
    }
}

/// Whether anything stands out around a centre: most cells are empty, which is seen at a few pixels.
fn shows(picture: &Picture<'_>, span: f64, [x, y]: Point, background: Rgb) -> bool {
    let range = || -GLANCES..=GLANCES;
    let mut places = range().flat_map(|down| range().map(move |right| (right, down)));
    places.any(|(right, down)| {
        let at = |centre: f64, index: i32| centre + f64::from(index) * GLANCE * span;
        let colour = picture.at(at(x, right), at(y, down));
        colour.is_some_and(|colour| distance(colour, background) >= 0.5 * FAINT)
    })
}
