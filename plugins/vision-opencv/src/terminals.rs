//! Which cells hold a terminal.
//!
//! A pipe passes through cell centres as well, so that a coloured centre alone is no terminal. A
//! terminal is a disc some two thirds of a cell wide, a pipe half as wide, the end of an unfinished
//! pipe in between: a ring at a quarter of a cell around the centre lies on a terminal all round, and
//! terminals are the largest discs. A letter in the middle of a disc (the labels for the colour-blind) is
//! not looked at.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use crate::grid_lines::Grid;
use crate::picture::{Picture, Rgb};
use crate::refusal::Refusal;

/// Radius of the ring, in cells.
const RING: f64 = 0.25;
/// Colours that a median is taken of.
const MOST: usize = 256;
/// Points of the ring.
const POINTS: usize = 32;
/// How much the radius of a disc may differ by direction and from disc to disc, as a share of it.
const ROUND: f64 = 0.15;
/// A terminal stands out by at least this share of what the middle one does.
const FAINTEST: f64 = 0.2;
/// What stands out by fewer levels than this is what compression leaves.
const FAINT: f64 = 12.0;

/// What differs by no more in each channel is faint.
const NEAR: u8 = 6;

/// The colours of one cell at a few places.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The colour of the terminal, if the cell holds one.
    pub terminal: Option<Rgb>,
    /// Around the very centre.
    pub middle: Rgb,
    /// On the ring, by direction from east clockwise.
    pub ring: [Rgb; POINTS],
    /// In the corners, where neither terminals nor pipes reach.
    pub background: Rgb,
    /// The centre, in frame pixels.
    centre: (f64, f64),
}

/// All cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// By cell index.
    pub cells: Vec<Look>,
    /// How many levels the faintest terminal differs from what is around it.
    pub faintest: f64,
}

/// A round thing in a cell.
struct Disc {
    colour: Rgb,
    /// In cells.
    radius: f64,
    /// How many levels it differs from what is around it.
    contrast: f64,
    /// Whether a pipe leaves it.
    leaves: bool,
}

/// Looks into every cell.
///
/// # Errors
/// [`Refusal::StrangeCell`], [`Refusal::NoTerminals`], [`Refusal::OddTerminals`].
pub fn look(picture: &Picture<'_>, grid: &Grid) -> Result<Looks, Refusal> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let mut cells: Vec<Look> = (0..rows * cols)
        .map(|cell| Look::take(picture, grid, cell / cols, cell % cols))
        .collect();
    let mut discs: Vec<Option<Disc>> = cells
        .iter()
        .map(|look| look.disc(picture, grid.cell))
        .collect();
    // The round end of a light's stripe looks like a disc that a pipe leaves, but for being faint.
    let middle = quantile(discs.iter().flatten().map(|disc| disc.contrast), 0.5);
    for disc in &mut discs {
        *disc = disc
            .take()
            .filter(|disc| !disc.leaves || disc.contrast >= FAINTEST * middle);
    }
    // Ends of unfinished pipes are discs as well, at most one for two terminals: so the disc at three
    // quarters of the order is a terminal.
    let radius = quantile(discs.iter().flatten().map(|disc| disc.radius), 0.75);
    let least = radius * (1.0 - ROUND) - 0.5 / grid.cell;
    let most = radius * (1.0 + ROUND) + 0.5 / grid.cell;
    let terminals = || discs.iter().flatten().filter(|disc| disc.radius >= least);
    let faintest = quantile(terminals().map(|disc| disc.contrast), 0.0);
    let count = terminals().count();
    if count == 0 {
        return Err(Refusal::NoTerminals { rows, cols });
    }
    for (cell, disc) in discs.iter().enumerate() {
        let Some(disc) = disc.as_ref().filter(|disc| disc.radius >= least) else {
            continue;
        };
        let strange = |what| Refusal::StrangeCell {
            row: cell / cols + 1,
            col: cell % cols + 1,
            what,
        };
        if disc.contrast < FAINTEST * middle {
            return Err(strange("a disc too faint to be a terminal"));
        }
        if disc.radius > most {
            return Err(strange("a disc larger than the other terminals"));
        }
        cells[cell].terminal = Some(disc.colour);
    }
    if count % 2 != 0 {
        return Err(Refusal::OddTerminals(count));
    }
    Ok(Looks { cells, faintest })
}

impl Look {
    fn take(picture: &Picture<'_>, grid: &Grid, row: usize, col: usize) -> Self {
        let centre = grid.centre(row, col);
        let at = |off_x: f64, off_y: f64| {
            picture
                .at(centre.0 + off_x * grid.cell, centre.1 + off_y * grid.cell)
                .unwrap_or_default()
        };
        let patch = |x: f64, y: f64, reach: f64| {
            let off = |index: usize| (index as f64 - 1.0) * reach;
            let colours: [Rgb; 9] =
                std::array::from_fn(|index| at(x + off(index % 3), y + off(index / 3)));
            median(&colours)
        };
        let corners = [
            (-0.385, -0.385),
            (0.385, -0.385),
            (-0.385, 0.385),
            (0.385, 0.385),
        ];
        Self {
            terminal: None,
            centre,
            middle: patch(0.0, 0.0, 0.05),
            ring: DIRECTIONS.map(|(cos, sin)| at(RING * cos, RING * sin)),
            background: median(&corners.map(|(x, y)| patch(x, y, 0.02))),
        }
    }

    /// The disc around the centre, if there is one.
    fn disc(&self, picture: &Picture<'_>, cell: f64) -> Option<Disc> {
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
        if self.ring.iter().any(|&other| off(other) > 0.5) {
            return None;
        }
        // Outwards until the colour is half that of the background, to a fraction of a pixel.
        let step = (0.5 / cell).max(1.0 / 64.0);
        let reach = |(cos, sin): (f64, f64)| {
            let (mut radius, mut inner) = (RING, 0.0);
            while radius < 0.5 {
                let next = radius + step;
                let (x, y) = (next * cell * cos, next * cell * sin);
                let outer = picture
                    .between(self.centre.0 + x, self.centre.1 + y)
                    .map_or(1.0, off);
                if outer > 0.5 {
                    return radius + step * ((0.5 - inner) / (outer - inner)).clamp(0.0, 1.0);
                }
                (radius, inner) = (next, outer);
            }
            radius
        };
        let reaches: Vec<f64> = directions().map(reach).collect();
        let mut free = outside_of_pipes(&reaches);
        free.sort_by(f64::total_cmp);
        // A terminal has one pipe at most, which takes less than a third of its rim.
        if free.len() < POINTS * 5 / 8 {
            return None;
        }
        let radius = free[free.len() / 2];
        let spread = free[free.len() * 15 / 16] - free[free.len() / 16];
        let round = spread <= 2.0 * (ROUND * radius).max(0.75 / cell);
        let leaves = free.len() < POINTS;
        // Blurred lights are round as well, but have no edge.
        let edge = 0.05 + 0.75 / cell;
        let sharp = || {
            directions()
                .zip(&reaches)
                .filter(|(_, reach)| (**reach - radius).abs() <= edge)
                .filter(|&((cos, sin), _)| {
                    let at = |radius: f64| {
                        let (x, y) = (radius * cell * cos, radius * cell * sin);
                        picture
                            .between(self.centre.0 + x, self.centre.1 + y)
                            .map_or(1.0, off)
                    };
                    at(radius - edge) < 0.3 && at(radius + edge) > 0.6
                })
                .count()
                >= POINTS / 2
        };
        (round && radius < 0.47 && sharp()).then(|| Disc {
            colour: self.inside(picture, cell),
            radius,
            contrast,
            leaves,
        })
    }

    /// The colour of the inner two thirds of a disc: a letter on it covers less than half of that.
    fn inside(&self, picture: &Picture<'_>, cell: f64) -> Rgb {
        let colours: Vec<Rgb> = [0.06, 0.11, 0.15, 0.18, 0.2, 0.22]
            .iter()
            .flat_map(|radius| {
                directions().filter_map(move |(cos, sin)| {
                    let (x, y) = (radius * cell * cos, radius * cell * sin);
                    picture.at(self.centre.0 + x, self.centre.1 + y)
                })
            })
            .collect();
        median(&colours)
    }
}

/// The reaches in all directions but those where a pipe leaves: around one that comes to the cell's
/// side.
fn outside_of_pipes(reaches: &[f64]) -> Vec<f64> {
    let leaves = |index: usize| reaches[index] >= 0.46;
    // A pipe of 0.2 cells to each side leaves a disc of radius 0.35 within 35 degrees.
    let near = POINTS / 9;
    (0..POINTS)
        .filter(|&index| {
            !(0..POINTS).any(|other| {
                let apart = index.abs_diff(other);
                apart.min(POINTS - apart) <= near && leaves(other)
            })
        })
        .map(|index| reaches[index])
        .collect()
}

/// Cosine and sine, from east clockwise.
static DIRECTIONS: LazyLock<[(f64, f64); POINTS]> = LazyLock::new(|| {
    std::array::from_fn(|index| {
        let angle = TAU * index as f64 / POINTS as f64;
        (angle.cos(), angle.sin())
    })
});

fn directions() -> impl Iterator<Item = (f64, f64)> {
    DIRECTIONS.iter().copied()
}

/// How far apart two colours are, in levels.
#[inline]
pub fn distance(a: Rgb, b: Rgb) -> f64 {
    f64::from(square_distance(a, b)).sqrt()
}

/// The square of it.
#[inline]
pub fn square_distance(a: Rgb, b: Rgb) -> u32 {
    let squares = a
        .iter()
        .zip(b)
        .map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2));
    squares.sum()
}

/// The middle one of each channel; black of none. Of more than [`MOST`] the first ones count.
pub fn median(colours: &[Rgb]) -> Rgb {
    let mut values = [0; MOST];
    std::array::from_fn(|channel| {
        let count = colours.len().min(MOST);
        for (value, colour) in values.iter_mut().zip(colours) {
            *value = colour[channel];
        }
        match values.get_mut(..count) {
            Some(values @ [_, ..]) => *values.select_nth_unstable(count / 2).1,
            _ => 0,
        }
    })
}

/// The value at a share of the order, 0 of none.
fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let index = (share * values.len() as f64) as usize;
    values
        .get(index.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}
