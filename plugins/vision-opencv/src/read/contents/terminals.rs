//! Which cells hold a terminal that is a disc or a block.
//!
//! A pipe passes through cell centres as well, so that a coloured centre alone is no terminal. A
//! terminal is a disc or a block some two thirds of a cell wide, a pipe half as wide, the end of an unfinished
//! pipe in between: a ring at a quarter of a cell around the centre lies on a terminal all round, and
//! terminals are the largest such shapes. All terminals of a board have one form. A letter in the middle
//! (the labels for the colour-blind) is not examined.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use flowpipe_plugin::puzzle::Cell;

use crate::find::grid::Grid;
use crate::numerics::quantile::quantile;
use crate::picture::cache::Measurement;
use crate::picture::colour::{distance, median};
use crate::picture::{Picture, Rgb};
use crate::read::contents::cell_layout::{INSIDE, Places};
use crate::read::shape::board_shape::Shape;
use crate::refuse::refusal::Refusal;

/// Radius of the ring, in spans of a cell.
const RING: f64 = 0.25;
/// Points of the ring.
const POINTS: usize = 32;
/// How much the radius of a terminal may differ by direction and from one to the other, as a share of it.
const ROUND: f64 = 0.15;
/// A terminal stands out by at least this share of what the middle one does.
const FAINTEST: f64 = 0.2;
/// What stands out by fewer levels than this is what compression leaves.
const FAINT: f64 = 12.0;
/// What differs by no more in each channel is faint.
const NEAR: u8 = 6;
/// One in so many points of the rim to both sides of the middle radius may be spoilt by noise.
const SPOILT: usize = 8;
/// One in so many points of the ring may be spoilt by a letter: the four corners of a wide one reach it. A
/// pipe leaves half of it free.
const WRITTEN: usize = 4;
/// The rim is looked for this much farther out where a letter reaches the ring, in spans.
const BEYOND_LETTER: f64 = 0.04;
/// What differs from a terminal's rim by this share of its contrast is written on it.
const LETTER: f64 = 0.3;
/// The corners are examined a little along the sides as well, by this share of those.
const ASIDE: f64 = 0.06;

/// The colours of one cell at a few places.
#[derive(Clone, Debug, PartialEq)]
pub struct CellColours {
    /// The colour of the terminal, if the cell holds one.
    pub terminal: Option<Rgb>,
    /// Around the very centre.
    pub middle: Rgb,
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

/// All cells.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardColours {
    /// By cell index; `None` where there is no cell.
    pub cells: Vec<Option<CellColours>>,
    /// How many levels the faintest terminal differs from what is around it.
    pub faintest: f64,
}

/// What a terminal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Disc,
    Block,
}

/// A disc or a block in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    form: Form,
    colour: Rgb,
    /// Half of its width, in spans of the cell.
    radius: f64,
    /// How many levels it differs from what is around it.
    contrast: f64,
    /// Whether a part of it is not seen, for a pipe leaves it or a letter reaches far.
    covered: bool,
}

impl Measurement for Blob {
    type Value = Option<Self>;
}

/// Reads the colours of every cell that is there.
#[must_use]
pub fn look(
    picture: &Picture<'_>,
    places: &Places<'_>,
    grid: &Grid,
    shape: &Shape,
) -> BoardColours {
    let look = |cell| {
        shape
            .has(cell)
            .then(|| CellColours::recall(picture, places, places.centre(cell)))
    };
    BoardColours {
        cells: (0..grid.len()).map(look).collect(),
        faintest: f64::INFINITY,
    }
}

impl BoardColours {
    /// Notes which of the cells hold a terminal, and gives how many do.
    ///
    /// # Errors
    /// [`Refusal::StrangeCell`], [`Refusal::OddTerminals`].
    pub fn find_terminals(
        &mut self,
        picture: &Picture<'_>,
        places: &Places<'_>,
        grid: &Grid,
    ) -> Result<usize, Refusal> {
        let span = places.span;
        let mut blobs: Vec<(Cell, Blob)> = self
            .there()
            .filter_map(|(cell, look)| Some((cell, look.recall_blob(picture, places)?)))
            .collect();
        // The round end of a light's stripe looks like a disc that a pipe leaves, except for being faint, and
        // so do the edges of some lights.
        let middle = quantile(blobs.iter().map(|(_, blob)| blob.contrast), 0.5);
        blobs.retain(|(_, blob)| !blob.covered || blob.contrast >= FAINTEST * middle);
        let blocks = blobs.iter().filter(|(_, blob)| blob.form == Form::Block);
        let form = match 2 * blocks.count() > blobs.len() {
            true => Form::Block,
            false => Form::Disc,
        };
        blobs.retain(|(_, blob)| blob.form == form);
        // Ends of unfinished pipes are discs as well, at most one for two terminals: so the disc at three
        // quarters of the order is a terminal.
        let radius = quantile(blobs.iter().map(|(_, blob)| blob.radius), 0.75);
        let least = radius * (1.0 - ROUND) - 0.5 / span;
        let most = radius * (1.0 + ROUND) + 0.5 / span;
        blobs.retain(|(_, blob)| blob.radius >= least);
        self.faintest = quantile(blobs.iter().map(|(_, blob)| blob.contrast), 0.0);
        for (cell, blob) in &blobs {
            let strange = |what| Refusal::StrangeCell {
                row: cell / grid.cols() + 1,
                col: cell % grid.cols() + 1,
                what,
            };
            if blob.contrast < FAINTEST * middle {
                return Err(strange("a disc too faint to be a terminal"));
            }
            if blob.radius > most {
                return Err(strange("a disc larger than the other terminals"));
            }
            if let Some(look) = &mut self.cells[*cell] {
                look.terminal = Some(blob.colour);
            }
        }
        match blobs.len() {
            count if count % 2 != 0 => Err(Refusal::OddTerminals(count)),
            count => Ok(count),
        }
    }

    /// The terminals and their colours.
    pub fn terminals(&self) -> Vec<(Cell, Rgb)> {
        self.there()
            .filter_map(|(cell, look)| Some((cell, look.terminal?)))
            .collect()
    }

    /// The cells that are there.
    pub fn there(&self) -> impl Iterator<Item = (Cell, &CellColours)> {
        let cells = self.cells.iter().enumerate();
        cells.filter_map(|(cell, look)| Some((cell, look.as_ref()?)))
    }
}

impl CellColours {
    fn recall(picture: &Picture<'_>, places: &Places<'_>, centre: [f64; 2]) -> Self {
        picture.recall::<CellColours>(
            || (places.key(centre, 0.0), places.area(centre, INSIDE)),
            || Self::take(picture, places, centre),
        )
    }

    fn take(picture: &Picture<'_>, places: &Places<'_>, centre: [f64; 2]) -> Self {
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
            centre,
            middle: median(&patch),
            ring: DIRECTIONS.map(|(cos, sin)| at([RING * span * cos, RING * span * sin])),
            background: median(&around[..3 * count]),
        }
    }

    fn recall_blob(&self, picture: &Picture<'_>, places: &Places<'_>) -> Option<Blob> {
        picture.recall::<Blob>(
            // The rim's outside is examined too.
            || (places.key(self.centre, 0.0), places.area(self.centre, 1.2)),
            || self.blob(picture, places),
        )
    }

    /// The disc or block around the centre, if there is one.
    fn blob(&self, picture: &Picture<'_>, places: &Places<'_>) -> Option<Blob> {
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
        let fitted = |form: Form| {
            let mut radii = [f64::INFINITY; POINTS];
            let places = DIRECTIONS.iter().zip(reaches).zip(free);
            let inside = places.filter_map(|((&way, reach), free)| free.then_some((way, reach)));
            for (radius, (way, reach)) in radii.iter_mut().zip(inside) {
                *radius = reach * form.norm(way);
            }
            radii.sort_by(f64::total_cmp);
            let spread = radii[count - 1 - count / SPOILT] - radii[count / SPOILT];
            (form, radii[count / 2], spread)
        };
        let fits = [fitted(Form::Disc), fitted(Form::Block)];
        let (form, radius, spread) = fits
            .into_iter()
            .min_by(|(_, _, a), (_, _, b)| a.total_cmp(b))?;
        // The corners of blocks may be round.
        let even = match form {
            Form::Disc => ROUND,
            Form::Block => 1.5 * ROUND,
        };
        let round = spread <= 2.0 * (even * radius).max(0.75 / span);
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
        (round && radius < form.widest(places) && sharp()).then(|| Blob {
            form,
            colour: self.inside(picture, span, colour, contrast),
            radius,
            contrast,
            covered: count < POINTS || spoilt > POINTS / SPOILT,
        })
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

impl Form {
    /// A terminal's radius is less, in spans: beyond is what the background is taken from.
    fn widest(self, places: &Places<'_>) -> f64 {
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
fn outside_of_pipes(places: &Places<'_>, reaches: &[f64; POINTS]) -> [bool; POINTS] {
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

/// Cosine and sine, from east clockwise.
static DIRECTIONS: LazyLock<[(f64, f64); POINTS]> = LazyLock::new(|| {
    std::array::from_fn(|index| {
        let angle = TAU * index as f64 / POINTS as f64;
        (angle.cos(), angle.sin())
    })
});
