//! Blobs: discs and blocks in cells.
//!
//! The rim of a blob is where its colour is half that of the background. A pipe that leaves it hides a part of the rim.
//! A letter in its middle (a label for the colour-blind) is ignored.

use crate::picture::cache::Measurement;
use crate::picture::colour::{distance, median};
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_colours::{CellColours, DIRECTIONS, POINTS, RING};
use crate::read::contents::cell_layout::CellLayout;

/// How much the radius of a terminal may differ by direction and from one to the other, as a share of it.
pub(super) const ROUND: f64 = 0.15;

/// What stands out by fewer levels than this is what compression leaves.
const FAINT: f64 = 12.0;

/// What differs by no more in each channel is faint.
const NEAR: u8 = 6;

/// One in this number of points of the rim, to both sides of the middle radius, may be spoilt by noise.
const SPOILT: usize = 8;

/// One in this number of points of the ring may be spoilt by a letter: the four corners of a wide one reach it. A
/// pipe leaves half of it free.
const WRITTEN: usize = 4;

/// The rim is looked for this much farther out where a letter reaches the ring, in spans.
const BEYOND_LETTER: f64 = 0.04;

/// Beside a ring, in spans from its rim, and by which share of its contrast what is there differs from what is within.
const BESIDE_RING: f64 = 0.05;
const SAME_TILE: f64 = 0.3;

/// What differs from a terminal's rim by this share of its contrast is written on it.
const LETTER: f64 = 0.3;

/// What a terminal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobForm {
    Disc,
    Block,
}

/// A disc or a block in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    pub(super) form: BlobForm,
    pub(super) colour: Rgb,
    /// Half of its width, in spans of the cell.
    pub(super) radius: f64,
    /// How many levels it differs from what is around it.
    pub(super) contrast: f64,
    /// The paint of the tile that it is a ring on, if it is one.
    pub(super) tile: Option<Rgb>,
    /// Whether a part of it is not seen, for a pipe leaves it or a letter reaches far.
    pub(super) covered: bool,
}

impl Measurement for Blob {
    type Value = Option<Self>;
}

impl CellColours {
    pub(super) fn recall_blob(
        &self,
        picture: &Picture<'_>,
        places: &CellLayout<'_>,
    ) -> Option<Blob> {
        picture.recall::<Blob>(
            // The rim's outside is examined too.
            || (places.key(self.centre, 0.0), places.area(self.centre, 1.2)),
            || self.blob(picture, places),
        )
    }

    /// The disc or block around the centre, if there is one.
    fn blob(&self, picture: &Picture<'_>, places: &CellLayout<'_>) -> Option<Blob> {
        let span = places.span;
        let near = |colour: &Rgb| {
            let mut channels = colour.iter().zip(self.background);
            channels.all(|(&value, background)| value.abs_diff(background) <= NEAR)
        };
        // Most cells are empty, which is seen without a median.
        if self.ring.iter().all(near) {
            return None;
        }
        let colour = median(&self.ring);
        let contrast = distance(colour, self.background);
        if contrast < FAINT {
            return None;
        }
        let off = |other: Rgb| distance(other, colour) / contrast;
        let spoilt = self.ring.iter().filter(|&&other| off(other) > 0.5).count();
        if spoilt > POINTS / WRITTEN {
            return None;
        }
        let at = |radius: f64, (cos, sin): (f64, f64)| {
            let (x, y) = (radius * span * cos, radius * span * sin);
            picture
                .between(self.centre[0] + x, self.centre[1] + y)
                .map_or(1.0, off)
        };
        // Outwards until the colour is half that of the background, to a fraction of a pixel.
        let step = (0.5 / span).max(1.0 / 64.0);
        let reach = |index: usize| {
            let direction = DIRECTIONS[index];
            let (mut radius, mut inner) = (RING, 0.0);
            if off(self.ring[index]) > LETTER {
                radius += BEYOND_LETTER;
            }
            let most = 0.5 / places.outwards(direction);
            while radius < most {
                let next = radius + step;
                let outer = at(next, direction);
                if outer > 0.5 {
                    return radius + step * ((0.5 - inner) / (outer - inner)).clamp(0.0, 1.0);
                }
                (radius, inner) = (next, outer);
            }
            radius
        };
        let reaches: [f64; POINTS] = std::array::from_fn(reach);
        let free = outside_of_pipes(places, &reaches);
        // A terminal has one pipe at most, which takes less than a third of its rim.
        let count = free.iter().filter(|free| **free).count();
        if count < POINTS * 5 / 8 {
            return None;
        }
        let fitted = |form: BlobForm| {
            let mut radii = [f64::INFINITY; POINTS];
            let places = DIRECTIONS.iter().zip(reaches).zip(free);
            let inside = places.filter_map(|((&way, reach), free)| free.then_some((way, reach)));
            for (radius, (way, reach)) in radii.iter_mut().zip(inside) {
                *radius = reach * form.norm(way);
            }
            radii.sort_by(f64::total_cmp);
            let range = radii[count - 1 - count / SPOILT] - radii[count / SPOILT];
            (form, radii[count / 2], range)
        };
        let fits = [fitted(BlobForm::Disc), fitted(BlobForm::Block)];
        let (form, radius, range) = fits
            .into_iter()
            .min_by(|(_, _, a), (_, _, b)| a.total_cmp(b))?;
        // The corners of blocks may be round.
        let even = match form {
            BlobForm::Disc => ROUND,
            BlobForm::Block => 1.5 * ROUND,
        };
        let round = range <= 2.0 * (even * radius).max(0.75 / span);
        // Blurred lights are round as well, but have no edge.
        let edge = 0.05 + 0.75 / span;
        let sharp = || {
            let inner = |reach: f64, way| at(reach - edge, way) < 0.3;
            let outer = |reach: f64, way| at(reach + edge, way) > 0.6;
            let rim = DIRECTIONS.iter().zip(reaches).filter(|&(&way, reach)| {
                (reach * form.norm(way) - radius).abs() <= edge
                    && inner(reach, way)
                    && outer(reach, way)
            });
            rim.count() >= POINTS / 2
        };
        (round && radius < form.widest(places) && sharp()).then(|| {
            let tile = self.tile(picture, span, colour, radius);
            Blob {
                form,
                colour: self.inside(picture, span, colour, contrast),
                radius,
                contrast: tile.map_or(contrast, |tile| distance(colour, tile)),
                tile,
                covered: count < POINTS || spoilt > POINTS / SPOILT,
            }
        })
    }

    /// The paint of the tile that a disc is a ring on: what is within it looks as what is around it, and that is not
    /// darker or paler than the ring, as the ground behind letters on discs is.
    fn tile(&self, picture: &Picture<'_>, span: f64, ring: Rgb, radius: f64) -> Option<Rgb> {
        let out = (radius + BESIDE_RING) * span;
        let around = DIRECTIONS.map(|(cos, sin)| {
            let seen = picture.at(self.centre[0] + out * cos, self.centre[1] + out * sin);
            seen.unwrap_or_default()
        });
        let contrast = distance(ring, self.middle);
        let is_tile = |colour: &Rgb| distance(*colour, self.middle) < SAME_TILE * contrast;
        let range = |colour: Rgb| {
            let (least, most) = (colour.iter().min(), colour.iter().max());
            most.zip(least).map_or(0, |(most, least)| most - least)
        };
        let stands_out =
            range(self.middle) > range(ring) || self.middle.iter().max() > ring.iter().max();
        let count = around.iter().filter(|colour| is_tile(colour)).count();
        (stands_out && count > POINTS * 3 / 4).then_some(self.middle)
    }

    /// The colour of the inner two thirds of a disc, given that of its ring. What differs is a letter,
    /// which may cover half of that.
    fn inside(&self, picture: &Picture<'_>, span: f64, ring: Rgb, contrast: f64) -> Rgb {
        const RADII: [f64; 6] = [0.06, 0.11, 0.15, 0.18, 0.2, 0.22];
        let mut colours = [ring; RADII.len() * POINTS];
        let mut count = 0;
        let points = RADII.iter().flat_map(|radius| {
            DIRECTIONS
                .iter()
                .map(move |(cos, sin)| (radius * span * cos, radius * span * sin))
        });
        for (x, y) in points {
            let seen = picture.at(self.centre[0] + x, self.centre[1] + y);
            if let Some(seen) = seen.filter(|&seen| distance(seen, ring) < LETTER * contrast) {
                colours[count] = seen;
                count += 1;
            }
        }
        median(&colours[..count.max(1)])
    }
}

impl BlobForm {
    /// A terminal's radius is less, in spans: beyond is what the background is taken from.
    fn widest(self, places: &CellLayout<'_>) -> f64 {
        match self {
            Self::Disc => 0.47,
            Self::Block => 0.5 * places.clear() - 0.02,
        }
    }

    /// How far out a point is: on the rim of the form it is the same everywhere.
    fn norm(self, (x, y): (f64, f64)) -> f64 {
        match self {
            Self::Disc => x.hypot(y),
            Self::Block => x.abs().max(y.abs()),
        }
    }
}

/// Which directions are none where a pipe leaves: around one that comes to the cell's side.
fn outside_of_pipes(places: &CellLayout<'_>, reaches: &[f64; POINTS]) -> [bool; POINTS] {
    let leaves = |index: usize| reaches[index] * places.outwards(DIRECTIONS[index]) >= 0.46;
    // A pipe of 0.2 cells to each side leaves a disc of radius 0.35 within 35 degrees.
    let near = POINTS / 9;
    std::array::from_fn(|index| {
        !(0..POINTS).any(|other| {
            let apart = index.abs_diff(other);
            apart.min(POINTS - apart) <= near && leaves(other)
        })
    })
}
