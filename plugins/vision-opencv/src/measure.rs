//! What lines look like on a board, and what does not count as one.

use flowpipe_plugin::puzzle::Lattice;

use crate::grid::Grid;
use crate::line_look::{Stretch, Widths};
use crate::order::quantile;
use crate::picture::Picture;
use crate::runs::Ink;
use crate::sides::{self, Side, Sides};

/// A line stands out by at least this share of what a thin one does: little is left of it between
/// two cells of a light tint.
const DRAWN: f64 = 0.12;
/// One that tells where a board has cells stands out by this share.
const PLAIN: f64 = 0.35;
/// Where a line would stand out by less than this many times what it must, had it whole pixels to
/// itself, it may be lost.
const HIDDEN: f64 = 4.0;
/// One in so many stretches may be lost: a bright flow fills up to a fifth of a large board.
const UNSEEN: usize = 5;
/// A thin line has at most this many times the thickness of the others.
const THICK: f64 = 2.1;
/// Sharp thin lines are at most this share of a cell wide.
const BLURRED: f64 = 0.05;
/// Where they are wider, a thick one stands out by this many times what a thin one does.
const BRIGHT: f64 = 1.6;
/// A thick one is so many times as wide as a thin one at least: where thin ones are sharp, and where they are
/// blurred. What is drawn over a thin line adds to its surroundings, but leaves it as wide.
const WIDE: [f64; 2] = [1.85, 1.3];
/// Or it stands out so many times as much, summed across it, and is brighter.
const MUCH: f64 = 3.0;
/// An outline has so many stretches at least: around four cells in a row, two at each side.
const OUTLINE: usize = 20;
/// Lines of fewer pixels are unevenly wide, and a thick one is so many times as wide.
const NARROW: f64 = 2.2;
const UNEVEN: f64 = 1.5;
/// Two lines are of one colour where their channels are in one proportion, give or take this share.
const ALIKE: f64 = 0.45;
/// How thick a line is can be told where it has room for this many times what it must stand out by.
const ROOM: f64 = 2.0;
/// Shares of a cell that sharp and blurred lines are wide.
const SHARP: [f64; 2] = [0.025, 0.045];
/// One with at most this many times is surely thin.
const THIN_AT_MOST: f64 = 1.6;
/// What is taken for a thin line: so far up in the order of all that are drawn. Of small boards most
/// lines may be outline.
const THIN: f64 = 0.3;
/// Places where no line is that are looked at, at most.
const BLANKS: usize = 64;

/// How grid lines look on this board. Dark ones are seen in a picture turned round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineLook {
    /// Whether they are brighter or darker than what they lie on.
    pub ink: Ink,
    /// How far a thin one stands out, in levels of its best channel.
    pub contrast: f64,
    /// The faintest one, as a share of that.
    pub faintest: f64,
    /// How many pixels wide a thin one is.
    pub thickness: f64,
    /// Its red, green and blue.
    pub colour: [f64; 3],
}

/// How far things stand out where no line is.
pub fn noise(picture: &Picture<'_>, grid: &Grid, ink: Ink) -> f64 {
    let every = grid.len().div_ceil(BLANKS / 2);
    let blanks = (0..grid.len())
        .step_by(every)
        .flat_map(|cell| sides::blanks(grid, cell, ink));
    quantile(
        blanks.map(|place| Stretch::look(picture, &place, grid.cell).contrast),
        0.6,
    )
}

/// What lines look like, and what does not count as one.
pub struct Measure {
    contrast: f64,
    colour: [f64; 3],
    thickness: f64,
    /// Of lines with nothing bright behind them.
    mass: f64,
    /// Of thin ones, each the middle one.
    widths: Widths,
    /// How many times as wide as those a thick one is at least.
    wide: f64,
    /// The least that a line stands out by, in levels.
    least: f64,
    /// What stands out where there is no line.
    noise: f64,
    /// The colour of thick lines, where there are as many as an outline has.
    thick_colour: Option<[f64; 3]>,
    /// Whether more stretches than may be lost are not seen.
    unclear: bool,
    /// Whether thin lines are as wide as blurred or small ones are.
    is_blurred: bool,
}

impl Measure {
    /// `None` where hardly any side is drawn.
    pub fn new(sides: &Sides, noise: f64, grid: &Grid) -> Option<Self> {
        let contrast = |side: &&Side| mean(side, |stretch| stretch.contrast);
        let drawn = sides
            .all
            .iter()
            .filter(|side| contrast(side) > 3.0 + 1.8 * noise);
        let drawn: Vec<&Side> = drawn.collect();
        if drawn.len() < 8 {
            return None;
        }
        let low = quantile(drawn.iter().map(contrast), THIN);
        let is_faint = |side: &&&Side| (0.6 * low..=1.6 * low).contains(&contrast(side));
        let faint: Vec<Stretch> = drawn
            .iter()
            .filter(is_faint)
            .flat_map(|side| side.looks)
            .collect();
        let colour_of = |lines: &[Stretch]| {
            let channel = |channel: usize| lines.iter().map(move |it| it.colour[channel]);
            [0, 1, 2].map(|it| quantile(channel(it), 0.5))
        };
        let colour = colour_of(&faint);
        let thick = |side: &&Side| mean(side, |stretch| stretch.thickness(colour));
        let thickness = quantile(drawn.iter().map(thick), THIN);
        // Lines stand out less between tinted cells, but are as thick there.
        let thin = drawn.iter().filter(|side| thick(side) <= 1.6 * thickness);
        let contrast = quantile(thin.clone().map(contrast), 0.5);
        let width = |of: fn(&Widths) -> f64| {
            let widths = thin
                .clone()
                .map(|side| mean(side, |stretch| of(&stretch.widths)));
            quantile(widths, 0.5)
        };
        let widths = Widths {
            whole: width(|widths| widths.whole),
            core: width(|widths| widths.core),
        };
        let mass = quantile(thin.map(|side| mean(side, |stretch| stretch.mass)), 0.7);
        // Two levels are what compression leaves on a flat surface.
        let least = (DRAWN * contrast).max(2.0);
        let mut measure = Self {
            contrast,
            colour,
            thickness,
            mass,
            widths,
            wide: wide(widths.whole, grid.cell),
            least,
            noise,
            thick_colour: None,
            unclear: false,
            is_blurred: grid.lattice == Lattice::Square && thickness > BLURRED * grid.cell,
        };
        let stretches = || sides.all.iter().flat_map(|side| &side.looks);
        let unseen = stretches().filter(|stretch| !measure.sees(stretch));
        measure.unclear = unseen.count() > stretches().count() / UNSEEN;
        let seems_thick = |side: &&Side| side.looks.iter().all(|it| measure.seems_thick(it));
        let thick: Vec<Stretch> = sides
            .all
            .iter()
            .filter(seems_thick)
            .flat_map(|side| side.looks)
            .collect();
        measure.thick_colour = (thick.len() >= OUTLINE).then(|| colour_of(&thick));
        Some(measure)
    }

    /// Whether a line stands out enough to be seen.
    pub fn sees(&self, stretch: &Stretch) -> bool {
        stretch.contrast >= self.least
    }

    /// Whether a side is seen near both of its ends.
    pub fn sees_all(&self, side: &Side) -> bool {
        side.looks.iter().all(|stretch| self.sees(stretch))
    }

    /// Beside a cell of a bright tint with a light behind it hardly anything of a line is left.
    pub fn has_no_room(&self, stretch: &Stretch) -> bool {
        stretch.room_for(self.colour) < HIDDEN * self.least
    }

    /// Whether a side may be drawn, if nearly all others are.
    pub fn shows(&self, side: &Side) -> bool {
        side.looks
            .iter()
            .all(|stretch| self.sees(stretch) || (!self.unclear && self.has_no_room(stretch)))
    }

    /// Whether a side is drawn, whatever the others are.
    pub fn draws(&self, side: &Side) -> bool {
        let level = (PLAIN * self.contrast).max(2.0 * self.noise).max(3.0);
        side.looks.iter().all(|stretch| {
            stretch.contrast >= level || (self.sees(stretch) && self.has_no_room(stretch))
        })
    }

    /// Whether a side is clearly thicker than the thin ones.
    pub fn is_thick(&self, side: &Side) -> bool {
        let is_thick = |stretch| self.seems_thick(stretch) && self.has_colour(stretch);
        side.looks.iter().all(is_thick)
    }

    /// Whether nobody can say if a side is thick: something lies over it, or close beside it.
    pub fn is_unclear(&self, side: &Side) -> bool {
        let may_be_thick = |stretch: &Stretch| {
            let is_wider = self.times(stretch).iter().any(|it| *it > self.wide.sqrt());
            let has_some = stretch.mass > THICK.sqrt() * self.mass * self.left(stretch, 1.0);
            (is_wider && self.has_more(stretch))
                || (has_some && self.is_wide(stretch) && self.sees(stretch))
        };
        side.looks.iter().all(may_be_thick) && !self.is_thick(side)
    }

    /// Whether a stretch is thick by all but its colour.
    fn seems_thick(&self, stretch: &Stretch) -> bool {
        let has_mass = |times: f64| stretch.mass > times * self.mass * self.left(stretch, ROOM);
        // In small cells a thick line is brighter rather than wider.
        let is_bright = stretch.contrast > BRIGHT * self.contrast;
        let is_much = is_bright && has_mass(MUCH);
        (has_mass(THICK) && self.is_wide(stretch) && self.is_bright(stretch)) || is_much
    }

    /// Whether a stretch seems to stand out more than thin ones do, summed across it.
    fn has_more(&self, stretch: &Stretch) -> bool {
        // Between tinted cells a thin line only looks thinner.
        let has_more = stretch.mass > THICK * self.mass
            || (stretch.thickness(self.colour) > THICK * self.thickness
                && !self.has_no_room(stretch));
        has_more && self.is_bright(stretch)
    }

    /// A light behind a blurred line is as wide as the line, but does not make it stand out more.
    fn is_bright(&self, stretch: &Stretch) -> bool {
        !self.is_blurred || stretch.contrast > BRIGHT * self.contrast
    }

    /// How much is left of a sharp line beside a tinted cell, as a share. `room`: at least so many times what it
    /// must stand out by, or nobody can tell.
    fn left(&self, stretch: &Stretch, room: f64) -> f64 {
        let seen = stretch.room_for(self.colour);
        if self.is_blurred || seen < room * self.least {
            return 1.0;
        }
        (seen / self.contrast).min(1.0)
    }

    /// Whether a stretch is as wide as a thick line.
    fn is_wide(&self, stretch: &Stretch) -> bool {
        self.times(stretch).iter().all(|times| *times > self.wide)
    }

    /// Whether a stretch has the colour of thin lines or of most thick ones, be it brighter or darker.
    fn has_colour(&self, stretch: &Stretch) -> bool {
        let mut colours = [Some(self.colour), self.thick_colour].into_iter().flatten();
        colours.any(|colour| alike(colour, stretch.colour))
    }

    /// How many times as wide as a thin line a stretch is, wholly and in its core.
    fn times(&self, stretch: &Stretch) -> [f64; 2] {
        let (widths, thin) = (&stretch.widths, &self.widths);
        [widths.whole / thin.whole, widths.core / thin.core]
    }

    /// Whether a side is clearly drawn, and not thick.
    pub fn is_thin(&self, side: &Side) -> bool {
        let seen = |stretch: &Stretch| !self.has_no_room(stretch);
        self.draws(side)
            && side.looks.iter().all(seen)
            && mean(side, |stretch| stretch.thickness(self.colour)) < THIN_AT_MOST * self.thickness
    }

    /// How lines look that are sides of the board's cells.
    pub fn look<'a>(&self, ink: Ink, sides: impl Iterator<Item = &'a Side>) -> LineLook {
        let stretches = sides.flat_map(|side| &side.looks);
        let shares = stretches.map(|stretch| stretch.contrast / self.contrast.max(1.0));
        LineLook {
            ink,
            contrast: self.contrast,
            faintest: shares.fold(1.0, f64::min).max(0.0),
            thickness: self.thickness,
            colour: self.colour,
        }
    }
}

/// Whether the channels in which a line is seen are in the same proportion in another one.
fn alike(line: [f64; 3], other: [f64; 3]) -> bool {
    let most = line.iter().copied().fold(1.0, f64::max);
    let channels = line.iter().zip(other);
    let shown = channels.filter(|(line, _)| **line > ALIKE * most);
    let shares = shown.map(|(line, other)| other / line);
    let (low, high) = shares.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), share| {
        (low.min(share), high.max(share))
    });
    low > ALIKE * high
}

/// How many times as wide as a thin line a thick one is at least. `width`: of a thin one, in pixels.
fn wide(width: f64, cell: f64) -> f64 {
    let blur = (width / cell - SHARP[0]) / (SHARP[1] - SHARP[0]);
    let wide = WIDE[0] + blur.clamp(0.0, 1.0) * (WIDE[1] - WIDE[0]);
    // Narrow ones may cover one pixel or a part of two.
    if width < NARROW {
        wide.max(UNEVEN)
    } else {
        wide
    }
}

fn mean(side: &Side, value: impl Fn(&Stretch) -> f64) -> f64 {
    f64::midpoint(value(&side.looks[0]), value(&side.looks[1]))
}
