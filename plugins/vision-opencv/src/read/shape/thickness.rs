//! The thickness of lines: a thick one is wider than thin ones, has more contrast, and has the colour of lines.

use std::collections::HashMap;

use flowpipe_plugin::puzzle::Lattice;

use crate::find::grid::Grid;
use crate::read::shape::line_model::{colour_of, mean};
use crate::read::shape::sides::{GridLine, Side, Sides};
use crate::read::shape::stretch::{LineWidths, Stretch};
use crate::read::shape::uneven;

/// Where a line would stand out by less than this many times what it must, had it whole pixels to
/// itself, it may be lost.
const HIDDEN: f64 = 4.0;
/// A thin line has at most this many times the thickness of the others.
const THICK: f64 = 2.1;
/// Sharp thin lines are at most this share of a cell wide.
const BLURRED: f64 = 0.05;
/// Where they are wider, a thick one stands out by this many times what a thin one does.
const BRIGHT: f64 = 1.6;
/// The least ratio of the width of a thick one to that of a thin one: where thin ones are sharp, and where they are
/// blurred. What is drawn over a thin line adds to its surroundings, but leaves it as wide.
const WIDE: [f64; 2] = [1.85, 1.3];
/// Or it stands out this many times as much, summed across it, and is brighter.
const MUCH: f64 = 3.0;
/// The least number of stretches of an outline: around four cells in a row, two at each side.
const OUTLINE: usize = 20;
/// Lines of fewer pixels are unevenly wide, and a thick one is `UNEVEN` times as wide.
pub const NARROW: f64 = 2.2;
const UNEVEN: f64 = 1.5;
/// Two lines are of one colour where their channels are in one proportion, give or take this share.
const ALIKE: f64 = 0.45;
/// The thickness of a line can be measured where it has room for this many times what it must stand out by.
const ROOM: f64 = 2.0;
/// Shares of a cell that sharp and blurred lines are wide.
const SHARP: [f64; 2] = [0.025, 0.045];
/// One with at most this many times is surely thin.
const THIN_AT_MOST: f64 = 1.6;

/// What thin lines look like on a board.
#[derive(Clone, Copy, Debug)]
pub struct ThinLine {
    /// How far they stand out, in levels of their best channel.
    pub contrast: f64,
    /// Red, green and blue.
    pub colour: [f64; 3],
    /// How many pixels wide they are, by their mass.
    pub thickness: f64,
    /// Levels summed across, of those with nothing bright behind them.
    pub mass: f64,
    /// Each the middle one.
    pub widths: LineWidths,
    /// The least that a line stands out by, in levels.
    pub least: f64,
}

impl ThinLine {
    /// Whether a line stands out enough to be seen.
    pub fn shows(&self, stretch: &Stretch) -> bool {
        stretch.contrast >= self.least
    }

    /// Beside a cell of a bright tint with a light behind it hardly anything of a line is left.
    pub fn has_no_room(&self, stretch: &Stretch) -> bool {
        stretch.room_for(self.colour) < HIDDEN * self.least
    }
}

/// What distinguishes thick lines from thin ones.
pub struct ThicknessClassifier {
    usual: Thickness,
    /// For lines that the scaling of the picture left in a way of their own.
    own: HashMap<GridLine, Thickness>,
}

impl ThicknessClassifier {
    /// Learns from the appearance of thin lines.
    pub fn new(thin: ThinLine, sides: &Sides, grid: &Grid) -> Self {
        let lines = uneven::lines(&thin, sides).into_iter();
        let lines = lines.map(|(line, thin)| (line, Thickness::new(thin, grid)));
        let mut learnt = Self {
            usual: Thickness::new(thin, grid),
            own: lines.collect(),
        };
        let seems_thick = |side: &&Side| {
            let line = learnt.at(side);
            side.looks.iter().all(|it| line.seems_thick(it))
        };
        let thick = sides.all.iter().filter(seems_thick);
        let thick: Vec<Stretch> = thick.flat_map(|side| side.looks).collect();
        let colour = (thick.len() >= OUTLINE).then(|| colour_of(&thick));
        learnt.usual.colour = colour;
        for line in learnt.own.values_mut() {
            line.colour = colour;
        }
        learnt
    }

    /// From where on a side is thick.
    fn at(&self, side: &Side) -> &Thickness {
        let own = side.line.and_then(|line| self.own.get(&line));
        own.unwrap_or(&self.usual)
    }

    /// Whether a side is clearly thicker than the thin ones.
    pub fn is_thick(&self, side: &Side) -> bool {
        self.at(side).is_thick(side)
    }

    /// Whether it is unknown if a side is thick: something lies over it, or close beside it.
    pub fn is_unclear(&self, side: &Side) -> bool {
        self.at(side).is_unclear(side)
    }

    /// Whether a side is thin beyond doubt.
    pub fn is_surely_thin(&self, side: &Side) -> bool {
        self.at(side).is_surely_thin(side)
    }
}

/// From where on lines are thick that are alike where they are thin.
#[derive(Clone, Debug)]
struct Thickness {
    thin: ThinLine,
    /// How many times as wide as thin ones a thick one is at least.
    wide: f64,
    /// Of thick ones, where there are as many as an outline has.
    colour: Option<[f64; 3]>,
    /// Whether thin lines are as wide as blurred or small ones are.
    is_blurred: bool,
}

impl Thickness {
    fn new(thin: ThinLine, grid: &Grid) -> Self {
        Self {
            thin,
            wide: wide(thin.widths.whole, grid.cell),
            colour: None,
            is_blurred: grid.lattice == Lattice::Square && thin.thickness > BLURRED * grid.cell,
        }
    }

    fn is_thick(&self, side: &Side) -> bool {
        let is_thick = |stretch| self.seems_thick(stretch) && self.has_colour(stretch);
        side.looks.iter().all(is_thick)
    }

    fn is_unclear(&self, side: &Side) -> bool {
        let may_be_thick = |stretch: &Stretch| {
            let is_wider = self.times(stretch).iter().any(|it| *it > self.wide.sqrt());
            let has_some = stretch.mass > THICK.sqrt() * self.thin.mass * self.left(stretch, 1.0);
            (is_wider && self.has_more(stretch))
                || (has_some && self.is_wide(stretch) && self.thin.shows(stretch))
        };
        side.looks.iter().all(may_be_thick) && !self.is_thick(side)
    }

    fn is_surely_thin(&self, side: &Side) -> bool {
        let seen = |stretch: &Stretch| !self.thin.has_no_room(stretch);
        side.looks.iter().all(seen)
            && mean(side, |stretch| stretch.thickness(self.thin.colour))
                < THIN_AT_MOST * self.thin.thickness
    }

    /// Whether a stretch is thick by all but its colour.
    fn seems_thick(&self, stretch: &Stretch) -> bool {
        let has_mass =
            |times: f64| stretch.mass > times * self.thin.mass * self.left(stretch, ROOM);
        // In small cells a thick line is brighter rather than wider.
        let is_bright = stretch.contrast > BRIGHT * self.thin.contrast;
        let is_much = is_bright && has_mass(MUCH);
        (has_mass(THICK) && self.is_wide(stretch) && self.is_bright(stretch)) || is_much
    }

    /// Whether a stretch seems to stand out more than thin ones do, summed across it.
    fn has_more(&self, stretch: &Stretch) -> bool {
        // Between tinted cells a thin line only looks thinner.
        let has_more = stretch.mass > THICK * self.thin.mass
            || (stretch.thickness(self.thin.colour) > THICK * self.thin.thickness
                && !self.thin.has_no_room(stretch));
        has_more && self.is_bright(stretch)
    }

    /// A light behind a blurred line is as wide as the line, but does not make it stand out more.
    fn is_bright(&self, stretch: &Stretch) -> bool {
        !self.is_blurred || stretch.contrast > BRIGHT * self.thin.contrast
    }

    /// How much is left of a sharp line beside a tinted cell, as a share. `room`: at least this multiple of what it
    /// must stand out by, or it is unknown.
    fn left(&self, stretch: &Stretch, room: f64) -> f64 {
        let seen = stretch.room_for(self.thin.colour);
        if self.is_blurred || seen < room * self.thin.least {
            return 1.0;
        }
        (seen / self.thin.contrast).min(1.0)
    }

    /// Whether a stretch is as wide as a thick line.
    fn is_wide(&self, stretch: &Stretch) -> bool {
        self.times(stretch).iter().all(|times| *times > self.wide)
    }

    /// Whether a stretch has the colour of thin lines or of most thick ones, be it brighter or darker.
    fn has_colour(&self, stretch: &Stretch) -> bool {
        let mut colours = [Some(self.thin.colour), self.colour].into_iter().flatten();
        colours.any(|colour| alike(colour, stretch.colour))
    }

    /// How many times as wide as a thin line a stretch is, wholly and in its core.
    fn times(&self, stretch: &Stretch) -> [f64; 2] {
        let (widths, thin) = (&stretch.widths, &self.thin.widths);
        [widths.whole / thin.whole, widths.core / thin.core]
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
