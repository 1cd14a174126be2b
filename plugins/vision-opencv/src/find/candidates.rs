//! Candidates: the grids and quadrilaterals in a picture that may be boards.
//!
//! Wider and fainter lines are tried only where no board was found, because blurred pictures cost more.

use crate::config::Config;
use crate::find::budget::SearchBudget;
use crate::find::grid::Grid;
use crate::find::hex_grid;
use crate::find::lines::criteria::{LineCriteria, PIPE};
use crate::find::lines::detector::LineDetector;
use crate::find::lines::segment::{self, Segment};
use crate::find::perspective::flip_axis::FlipAxis;
use crate::find::perspective::quad::{self, Quad};
use crate::picture::Picture;
use crate::picture::polarity::Polarity;

/// What lines are looked for, in the order tried.
pub const ATTEMPTS: [Attempt; 6] = [
    Attempt::new(Polarity::Bright, 0.06, 1),
    Attempt::new(Polarity::Dark, 0.06, 1),
    Attempt::new(Polarity::Bright, 0.03, 4),
    Attempt::new(Polarity::Dark, 0.03, 4),
    Attempt::new(Polarity::Bright, 0.022, 2),
    Attempt::new(Polarity::Bright, 0.12, 1),
];
/// The same for boards that turn.
const TURNED_ATTEMPTS: [Attempt; 4] = [
    Attempt::new(Polarity::Bright, 0.06, 1),
    Attempt::new(Polarity::Dark, 0.06, 1),
    Attempt::new(Polarity::Bright, 0.022, 1),
    Attempt::new(Polarity::Dark, 0.022, 1),
];
/// The same for boards of hexagons that lie on their side.
pub const LYING_ATTEMPTS: [Attempt; 2] = [
    Attempt::new(Polarity::Bright, 0.06, 1),
    Attempt::new(Polarity::Dark, 0.06, 1),
];
/// The same for boards whose borders are at the picture's edge.
pub const EDGE_ATTEMPTS: [Attempt; 2] = [
    Attempt::new(Polarity::Bright, 0.06, 1),
    Attempt::new(Polarity::Dark, 0.06, 1),
];
/// Grids of such boards examined for one attempt.
const MOST_LYING: usize = 2;
/// Quadrilaterals examined in one picture.
const MOST_QUADS: usize = 3;
/// Grids of hexagons examined for one attempt.
const MOST_HEXES: usize = 2;

/// Lines of one kind.
#[derive(Clone, Copy)]
pub struct Attempt {
    polarity: Polarity,
    /// By what share of the picture's contrast they stand out.
    share: f64,
    /// How many times as wide as drawn sharply: blurred ones are.
    times: usize,
}

impl Attempt {
    const fn new(polarity: Polarity, share: f64, times: usize) -> Self {
        Self {
            polarity,
            share,
            times,
        }
    }
}

/// Finds candidates in pictures, one after the other. It keeps nothing of them but memory.
#[derive(Default)]
pub struct CandidateFinder {
    detector: LineDetector,
    /// What examining them may still cost.
    pub budget: SearchBudget,
}

impl CandidateFinder {
    /// Takes the samples of a picture, with a new budget.
    pub fn take(&mut self, picture: &Picture<'_>) {
        self.detector.take(picture);
        self.budget = SearchBudget::new();
    }

    /// What counts as a line in the picture whose samples were taken last.
    #[must_use]
    pub fn criteria(&self, config: &Config, attempt: Attempt) -> LineCriteria {
        let contrast = f64::from(self.detector.contrast());
        LineCriteria {
            polarity: attempt.polarity,
            // Some levels of grey are what compression and rounding leave on a flat surface.
            level: (attempt.share * contrast).max(3.0) as u8,
            aside: self.detector.aside() * attempt.times,
            shortest: 0.7 * f64::from(config.min_cell_pixels),
            gaps: PIPE,
        }
    }

    /// The vertical and the horizontal lines.
    #[must_use]
    pub fn lines(&mut self, criteria: &LineCriteria) -> [Vec<Segment>; 2] {
        let lines = [
            self.detector.vertical(criteria),
            self.detector.horizontal(criteria),
        ];
        for lines in &lines {
            self.budget.spend_on(lines);
        }
        lines
    }

    /// The grids of hexagons.
    #[must_use]
    pub fn hexes(
        &mut self,
        picture: &Picture<'_>,
        criteria: &LineCriteria,
        config: &Config,
    ) -> Vec<Grid> {
        let horizontal = self.detector.horizontal(&sides_of_hexes(criteria));
        let hexes = self.hexes_of(&horizontal, MOST_HEXES, config);
        hex_grid::placed(hexes, picture, criteria.polarity)
    }

    /// The grids of hexagons in the picture turned clockwise, to a pixel or two.
    #[must_use]
    pub fn lying_hexes(&mut self, criteria: &LineCriteria, config: &Config) -> Vec<Grid> {
        let vertical = self.detector.vertical(&sides_of_hexes(criteria));
        let horizontal = segment::horizontal(&vertical, self.detector.height());
        self.hexes_of(&horizontal, MOST_LYING, config)
    }

    /// The grids of hexagons that horizontal lines are of, at most `most` of them.
    fn hexes_of(&mut self, horizontal: &[Segment], most: usize, config: &Config) -> Vec<Grid> {
        self.budget.spend_on(horizontal);
        let mut hexes = hex_grid::find(horizontal, self.detector.stride());
        hexes.retain(|grid| may_be_board(grid, config));
        hexes.truncate(most);
        hexes
    }

    /// The quadrilaterals that may be boards which turn, with the polarity of their lines: those of the most lines
    /// first. Where they turn about a horizontal line they are those of the picture turned clockwise.
    #[must_use]
    pub fn quads(&mut self, config: &Config, axis: FlipAxis) -> Vec<(Polarity, Quad)> {
        let mut quads: Vec<(Polarity, Quad)> = Vec::new();
        for attempt in TURNED_ATTEMPTS {
            let criteria = self.criteria(config, attempt);
            let vertical = match axis {
                FlipAxis::Vertical => self.detector.vertical(&criteria),
                FlipAxis::Horizontal => {
                    segment::vertical(&self.detector.horizontal(&criteria), self.detector.height())
                }
            };
            let blur = self.detector.stride() as f64;
            let found = quad::find(&vertical, blur, config);
            for quad in found {
                let is_known = |(polarity, other): &(Polarity, Quad)| {
                    criteria.polarity == *polarity && quad.is_near(other)
                };
                if !quads.iter().any(is_known) {
                    quads.push((criteria.polarity, quad));
                }
            }
        }
        quads.sort_by_key(|(_, quad)| usize::MAX - quad.ends);
        quads.truncate(MOST_QUADS);
        quads
    }

    /// The points of vertical and of horizontal lines of a polarity, tilted ones too: across and along them, in frame
    /// pixels.
    #[must_use]
    pub fn points(&mut self, config: &Config, polarity: Polarity) -> [Vec<[f64; 2]>; 2] {
        let criteria = self.criteria(config, Attempt::new(polarity, 0.06, 1));
        let vertical = self.detector.vertical_points(&criteria);
        [vertical, self.detector.horizontal_points(&criteria)]
    }
}

/// Sides of hexagons among lines: terminals and horizontal sides lie in line, and outlines are three times as thick as
/// lines.
fn sides_of_hexes(criteria: &LineCriteria) -> LineCriteria {
    LineCriteria {
        gaps: 0.0,
        aside: 2 * criteria.aside,
        ..*criteria
    }
}

/// Whether what was seen of a board of hexagons has as many cells as boards have at most: its grid has more.
fn may_be_board(grid: &Grid, config: &Config) -> bool {
    let most = config.max_cells + 2 * hex_grid::AROUND;
    grid.rows().max(grid.cols()) <= most
}
