//! The colours of a cell at a few places: its middle, a ring around it, its corners.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use crate::picture::cache::Measurement;
use crate::picture::colour::{distance, median};
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_layout::{CellLayout, INSIDE};

/// Radius of the ring, in spans of a cell.
pub(super) const RING: f64 = 0.25;

/// Points of the ring.
pub(super) const POINTS: usize = 32;

/// The corners are examined a little along the sides as well, by this share of those.
const ASIDE: f64 = 0.06;

/// A line over the middle of a cell stands out by this many levels.
const LINED: f64 = 60.0;

/// The colours of one cell at a few places.
#[derive(Clone, Debug, PartialEq)]
pub struct CellColours {
    /// The colour of the terminal, if the cell holds one.
    pub terminal: Option<Rgb>,
    /// The paint of the tile that the terminal is a ring on, if it is one.
    pub tile: Option<Rgb>,
    /// Around the very centre.
    pub middle: Rgb,
    /// Three by three places around the centre, of which it is the median.
    pub patch: [Rgb; 9],
    /// On the ring, by direction from east clockwise.
    pub ring: [Rgb; POINTS],
    /// In the corners, where neither terminals nor pipes reach.
    pub background: Rgb,
    /// The centre, in frame pixels.
    pub centre: [f64; 2],
}

impl Measurement for CellColours {
    type Value = Self;
}

impl CellColours {
    pub(super) fn recall(picture: &Picture<'_>, places: &CellLayout<'_>, centre: [f64; 2]) -> Self {
        picture.recall::<CellColours>(
            || (places.key(centre, 0.0), places.area(centre, INSIDE)),
            || Self::take(picture, places, centre),
        )
    }

    /// Whether something goes over the middle: the very centre and two places beside it stand out from the background.
    #[must_use]
    pub fn is_lined(&self) -> bool {
        let off = self.patch.map(|colour| distance(colour, self.background));
        let edges = off.iter().filter(|&&off| off > LINED / 2.0);
        off[off.len() / 2] > LINED && edges.count() >= 3
    }

    fn take(picture: &Picture<'_>, places: &CellLayout<'_>, centre: [f64; 2]) -> Self {
        let span = places.span;
        let at = |[x, y]: [f64; 2]| {
            let point = [centre[0] + x, centre[1] + y];
            places.soft(picture, point).unwrap_or_default()
        };
        let patch: [Rgb; 9] = std::array::from_fn(|index| {
            let off = |index: usize| (index as f64 - 1.0) * 0.05 * span;
            at([off(index % 3), off(index / 3)])
        });
        let count = places.corners();
        let mut around = [Rgb::default(); 18];
        for (corner, around) in around.chunks_mut(3).take(count).enumerate() {
            let here = places.corner(corner);
            let beside = [
                here,
                places.corner(corner + 1),
                places.corner(corner + count - 1),
            ];
            for (colour, to) in around.iter_mut().zip(beside) {
                let place =
                    |axis: usize| places.clear() * here[axis] + ASIDE * (to[axis] - here[axis]);
                *colour = at([place(0), place(1)]);
            }
        }
        Self {
            terminal: None,
            tile: None,
            centre,
            middle: median(&patch),
            patch,
            ring: DIRECTIONS.map(|(cos, sin)| at([RING * span * cos, RING * span * sin])),
            background: median(&around[..3 * count]),
        }
    }
}

/// Cosine and sine, from east clockwise.
pub(super) static DIRECTIONS: LazyLock<[(f64, f64); POINTS]> = LazyLock::new(|| {
    std::array::from_fn(|index| {
        let angle = TAU * index as f64 / POINTS as f64;
        (angle.cos(), angle.sin())
    })
});
