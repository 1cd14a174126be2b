//! The model of the lines of a board: how they look, and what does not count as one.

use crate::find::cell_side;
use crate::find::grid::Grid;
use crate::numerics::quantile::quantile;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::shape::sides::{Side, Sides};
use crate::read::shape::stretch::{LineWidths, Stretch};
use crate::read::shape::thickness::{ThicknessClassifier, ThinLine};

/// A line stands out by at least this share of what a thin one does: little is left of it between
/// two cells of a light tint.
const DRAWN: f64 = 0.12;
/// One that marks where a board has cells stands out by this share.
const PLAIN: f64 = 0.35;
/// One in this number of stretches may be lost: a bright flow fills up to a fifth of a large board.
pub const UNSEEN: usize = 5;
/// What is taken for a thin line: the quantile in the order of all that are drawn. Of small boards most
/// lines may be outline.
const THIN: f64 = 0.3;
/// The least number of sides that lines are learnt from.
const FEWEST: usize = 8;
/// An outline whose middle line has less than this share of what thin lines inside have, summed across, is thinner
/// than those: each cell draws half of a line around itself.
const THINNER: f64 = 0.75;
/// Places where no line is that are examined, at most.
const BLANKS: usize = 64;

/// How grid lines look on this board. Dark ones are inverted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineAppearance {
    /// Whether they are brighter or darker than what they lie on.
    pub polarity: Polarity,
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
pub fn noise(picture: &Picture<'_>, grid: &Grid, polarity: Polarity) -> f64 {
    let every = grid.len().div_ceil(BLANKS / 2);
    let blanks = (0..grid.len())
        .step_by(every)
        .flat_map(|cell| cell_side::blanks(grid, cell, polarity));
    quantile(
        blanks.map(|place| Stretch::look(picture, &place, grid.cell).contrast),
        0.6,
    )
}

/// What lines look like, and what does not count as one.
pub struct LineModel {
    thin: ThinLine,
    thick: ThicknessClassifier,
    /// What stands out where there is no line.
    noise: f64,
    /// Whether more stretches than may be lost are not seen.
    many_unseen: bool,
}

impl LineModel {
    /// `None` where hardly any side is drawn.
    pub fn new(sides: &Sides, noise: f64, grid: &Grid) -> Option<Self> {
        let contrast = |side: &&Side| mean(side, |stretch| stretch.contrast);
        let drawn = sides
            .all
            .iter()
            .filter(|side| contrast(side) > 3.0 + 1.8 * noise);
        let drawn = inside_of_thin_outline(drawn.collect());
        if drawn.len() < FEWEST {
            return None;
        }
        let low = quantile(drawn.iter().map(contrast), THIN);
        let is_faint = |side: &&&Side| (0.6 * low..=1.6 * low).contains(&contrast(side));
        let faint: Vec<Stretch> = drawn
            .iter()
            .filter(is_faint)
            .flat_map(|side| side.looks)
            .collect();
        let colour = colour_of(&faint);
        let thick = |side: &&Side| mean(side, |stretch| stretch.thickness(colour));
        let thickness = quantile(drawn.iter().map(thick), THIN);
        // Lines stand out less between tinted cells, but are as thick there.
        let thin = drawn.iter().filter(|side| thick(side) <= 1.6 * thickness);
        let contrast = quantile(thin.clone().map(contrast), 0.5);
        let width = |of: fn(&LineWidths) -> f64| {
            let widths = thin
                .clone()
                .map(|side| mean(side, |stretch| of(&stretch.widths)));
            quantile(widths, 0.5)
        };
        let widths = LineWidths {
            whole: width(|widths| widths.whole),
            core: width(|widths| widths.core),
        };
        let mass = quantile(thin.map(|side| mean(side, |stretch| stretch.mass)), 0.7);
        // Two levels are what compression leaves on a flat surface.
        let least = (DRAWN * contrast).max(2.0);
        let thin = ThinLine {
            contrast,
            colour,
            thickness,
            mass,
            widths,
            least,
        };
        let stretches = || sides.all.iter().flat_map(|side| &side.looks);
        let unseen = stretches().filter(|stretch| !thin.shows(stretch));
        Some(Self {
            thin,
            thick: ThicknessClassifier::new(thin, sides, grid),
            noise,
            many_unseen: unseen.count() > stretches().count() / UNSEEN,
        })
    }

    /// What distinguishes thick lines from thin ones.
    pub fn thick(&self) -> &ThicknessClassifier {
        &self.thick
    }

    /// Whether a side is seen near both of its ends.
    pub fn sees_all(&self, side: &Side) -> bool {
        side.looks.iter().all(|stretch| self.thin.shows(stretch))
    }

    /// Whether a side may be drawn, if nearly all others are.
    pub fn shows(&self, side: &Side) -> bool {
        side.looks.iter().all(|stretch| {
            self.thin.shows(stretch) || (!self.many_unseen && self.thin.has_no_room(stretch))
        })
    }

    /// Whether a side is drawn, whatever the others are.
    pub fn draws(&self, side: &Side) -> bool {
        self.may_draw(side) && self.sees_all(side)
    }

    /// Whether a side is drawn, or would not be seen if it were.
    pub fn may_draw(&self, side: &Side) -> bool {
        let level = (PLAIN * self.thin.contrast).max(2.0 * self.noise).max(3.0);
        let mut stretches = side.looks.iter();
        stretches.all(|stretch| stretch.contrast >= level || self.thin.has_no_room(stretch))
    }

    /// Whether a side is clearly drawn, and not thick.
    pub fn is_thin(&self, side: &Side) -> bool {
        self.draws(side) && self.thick.is_surely_thin(side)
    }

    /// How lines look that are sides of the board's cells.
    pub fn look<'a>(
        &self,
        polarity: Polarity,
        sides: impl Iterator<Item = &'a Side>,
    ) -> LineAppearance {
        let stretches = sides.flat_map(|side| &side.looks);
        let shares = stretches.map(|stretch| stretch.contrast / self.thin.contrast.max(1.0));
        LineAppearance {
            polarity,
            contrast: self.thin.contrast,
            faintest: shares.fold(1.0, f64::min).max(0.0),
            thickness: self.thin.thickness,
            colour: self.thin.colour,
        }
    }
}

/// The sides inside of an outline that is thinner than they are: of a small board they are too few to outnumber it. All
/// sides where it is not.
fn inside_of_thin_outline(drawn: Vec<&Side>) -> Vec<&Side> {
    let (inner, outer): (Vec<&Side>, Vec<&Side>) =
        drawn.iter().partition(|side| side.other.is_some());
    let mass = |sides: &[&Side], share: f64| {
        let masses = sides.iter().map(|side| mean(side, |stretch| stretch.mass));
        quantile(masses, share)
    };
    let is_thinner = inner.len() >= FEWEST
        && outer.len() >= FEWEST
        && mass(&outer, 0.5) < THINNER * mass(&inner, THIN);
    if is_thinner { inner } else { drawn }
}

/// The middle colour of lines.
pub fn colour_of(lines: &[Stretch]) -> [f64; 3] {
    let channel = |channel: usize| lines.iter().map(move |it| it.colour[channel]);
    [0, 1, 2].map(|it| quantile(channel(it), 0.5))
}

/// Of both ends of a side.
pub fn mean(side: &Side, value: impl Fn(&Stretch) -> f64) -> f64 {
    f64::midpoint(value(&side.looks[0]), value(&side.looks[1]))
}
