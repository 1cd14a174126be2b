//! The full search: a board anywhere in a picture, with nothing known before.

use flowpipe_plugin::puzzle::Lattice;
use flowpipe_plugin::puzzle::message::SeenBoard;

use crate::config::Config;
use crate::find::budget::Effort;
use crate::find::grid::Grid;
use crate::find::lines::criteria::{PIPE, Sought};
use crate::find::lines::detector::Samples;
use crate::find::lines::segment;
use crate::find::perspective::quad::{self, Quad};
use crate::find::{hex_grid, square_grid};
use crate::picture::Picture;
use crate::picture::polarity::Ink;
use crate::picture::rotation::{self, Quarter};
use crate::read::board::{Read, read_board};
use crate::read::error::ReadError;
use crate::read::flip_search::Axis;
use crate::read::illustration;
use crate::read::shape::surroundings::Beyond;
use crate::refuse::refusal::Refusal;
use crate::steps::Steps;

/// What lines are looked for, in the order tried.
const ATTEMPTS: [Attempt; 6] = [
    Attempt::new(Ink::Bright, 0.06, 1),
    Attempt::new(Ink::Dark, 0.06, 1),
    Attempt::new(Ink::Bright, 0.03, 4),
    Attempt::new(Ink::Dark, 0.03, 4),
    Attempt::new(Ink::Bright, 0.022, 2),
    Attempt::new(Ink::Bright, 0.12, 1),
];
/// The same for boards that turn.
const TURNED_ATTEMPTS: [Attempt; 4] = [
    Attempt::new(Ink::Bright, 0.06, 1),
    Attempt::new(Ink::Dark, 0.06, 1),
    Attempt::new(Ink::Bright, 0.022, 1),
    Attempt::new(Ink::Dark, 0.022, 1),
];
/// The same for boards of hexagons that lie on their side.
const LYING_ATTEMPTS: [Attempt; 2] = [
    Attempt::new(Ink::Bright, 0.06, 1),
    Attempt::new(Ink::Dark, 0.06, 1),
];
/// Grids of such boards examined for one attempt.
const MOST_LYING: usize = 2;
/// Quadrilaterals examined in one picture.
const MOST_QUADS: usize = 3;
/// Grids of hexagons examined for one attempt.
const MOST_HEXES: usize = 2;
/// Grids examined for one attempt.
const MOST_GRIDS: usize = 12;

/// Lines of one kind.
#[derive(Clone, Copy)]
struct Attempt {
    ink: Ink,
    /// By what share of the picture's contrast they stand out.
    share: f64,
    /// How many times as wide as drawn sharply: blurred ones are.
    times: usize,
}

impl Attempt {
    const fn new(ink: Ink, share: f64, times: usize) -> Self {
        Self { ink, share, times }
    }
}

/// Searches pictures, one after the other. It keeps nothing of them but memory.
#[derive(Default)]
pub struct Search {
    samples: Samples,
    effort: Effort,
}

impl Search {
    /// Searches a picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    pub fn search(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Result<Read, Refusal>, ReadError> {
        self.samples.take(picture);
        self.effort = Effort::new();
        steps.done("samples");
        let mut refusal = Refusal::NoShape;
        for attempt in ATTEMPTS {
            let sought = self.sought(config, attempt);
            match self.attempt(picture, config, &sought, steps)? {
                Ok(read) => return Ok(Ok(read)),
                Err(Refusal::TwoBoards) => return Ok(Err(Refusal::TwoBoards)),
                Err(new) if new.progress() > refusal.progress() => refusal = new,
                Err(_) => {}
            }
            if self.effort.is_spent() {
                break;
            }
        }
        Ok(Err(refusal))
    }

    /// Whether the picture that was searched last is so full of lines that not all of them were examined.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.effort.is_spent()
    }

    /// The board of hexagons that lies on its side in the picture that was searched last: named as it is seen in the
    /// picture turned clockwise, placed where it is in the picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without such a board is none.
    pub fn search_lying(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Option<Box<SeenBoard>>, ReadError> {
        let mut quarter = None;
        for attempt in LYING_ATTEMPTS {
            let sought = sides_of_hexes(&self.sought(config, attempt));
            let vertical = self.samples.vertical(&sought);
            let horizontal = segment::horizontal(&vertical, picture.height());
            self.effort.spend_on(&horizontal);
            let mut hexes = hex_grid::find(&horizontal, self.samples.stride());
            hexes.retain(|grid| may_be_board(grid, config));
            hexes.truncate(MOST_LYING);
            if hexes.is_empty() {
                continue;
            }
            let turned = quarter.get_or_insert_with(|| Quarter::clockwise(picture));
            let turned = turned.picture()?;
            let hexes = hex_grid::placed(hexes, &turned, sought.ink);
            steps.done("grid");
            if let Ok(Read { mut board, .. }) =
                try_grids(&turned, config, hexes, sought.ink, &mut self.effort, steps)?
            {
                board.geometry = rotation::geometry_back(board.geometry, picture.height());
                return Ok(Some(board));
            }
        }
        steps.done("grid");
        Ok(None)
    }

    /// The quadrilaterals in the picture that was searched last that may be boards which turn, with the ink of
    /// their lines: those of the most lines first. Where they turn about a horizontal line they are those of the picture
    /// turned clockwise.
    #[must_use]
    pub fn quads(&mut self, config: &Config, axis: Axis) -> Vec<(Ink, Quad)> {
        let mut quads: Vec<(Ink, Quad)> = Vec::new();
        for attempt in TURNED_ATTEMPTS {
            let sought = self.sought(config, attempt);
            let vertical = match axis {
                Axis::Vertical => self.samples.vertical(&sought),
                Axis::Horizontal => {
                    segment::vertical(&self.samples.horizontal(&sought), self.samples.height())
                }
            };
            let blur = self.samples.stride() as f64;
            let found = quad::find(&vertical, blur, config);
            for quad in found {
                let is_known =
                    |(ink, other): &(Ink, Quad)| sought.ink == *ink && quad.is_near(other);
                if !quads.iter().any(is_known) {
                    quads.push((sought.ink, quad));
                }
            }
        }
        quads.sort_by_key(|(_, quad)| usize::MAX - quad.ends);
        quads.truncate(MOST_QUADS);
        quads
    }

    /// The points of vertical and of horizontal lines of an ink in the picture that was searched last, tilted ones too:
    /// across and along them, in frame pixels.
    #[must_use]
    pub fn points(&mut self, config: &Config, ink: Ink) -> [Vec<[f64; 2]>; 2] {
        let sought = self.sought(config, Attempt::new(ink, 0.06, 1));
        let vertical = self.samples.vertical_points(&sought);
        [vertical, self.samples.horizontal_points(&sought)]
    }

    /// What is looked for in the picture whose samples were taken last.
    fn sought(&self, config: &Config, attempt: Attempt) -> Sought {
        let contrast = f64::from(self.samples.contrast());
        Sought {
            ink: attempt.ink,
            // Some levels of grey are what compression and rounding leave on a flat surface.
            level: (attempt.share * contrast).max(3.0) as u8,
            aside: self.samples.aside() * attempt.times,
            shortest: 0.7 * f64::from(config.min_cell_pixels),
            gaps: PIPE,
        }
    }

    /// All grids of lines that stand out by a level.
    fn attempt(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        sought: &Sought,
        steps: &mut Steps,
    ) -> Result<Result<Read, Refusal>, ReadError> {
        let vertical = self.samples.vertical(sought);
        let horizontal = self.samples.horizontal(sought);
        steps.done("lines");
        illustration::lines(picture, &vertical, &horizontal, steps);
        self.effort.spend_on(&vertical);
        self.effort.spend_on(&horizontal);
        if horizontal.is_empty() {
            return Ok(Err(Refusal::NoShape));
        }
        let squares = square_grid::find(&vertical, &horizontal, config);
        steps.done("grid");
        let mut read = try_grids(
            picture,
            config,
            squares,
            sought.ink,
            &mut self.effort,
            steps,
        )?;
        if read.is_err() {
            let horizontal = self.samples.horizontal(&sides_of_hexes(sought));
            self.effort.spend_on(&horizontal);
            let mut hexes = hex_grid::find(&horizontal, self.samples.stride());
            hexes.retain(|grid| may_be_board(grid, config));
            hexes.truncate(MOST_HEXES);
            let hexes = hex_grid::placed(hexes, picture, sought.ink);
            steps.done("grid");
            let other = try_grids(picture, config, hexes, sought.ink, &mut self.effort, steps)?;
            let is_better = |refusal: &Refusal| match &other {
                Ok(_) => true,
                // Where the sides of hexagons are not drawn, or nothing lies in them, there is rather no board of
                // them: the refusal of squares helps more.
                Err(
                    Refusal::SidesMissing { .. }
                    | Refusal::GoesOn { .. }
                    | Refusal::NoTerminals { .. },
                ) => false,
                Err(other) => other.progress() > refusal.progress(),
            };
            if read.as_ref().is_err_and(is_better) {
                read = other;
            }
        }
        match read {
            Err(Refusal::NoGrid) if vertical.is_empty() => Ok(Err(Refusal::NoShape)),
            read => Ok(read),
        }
    }
}

/// Sides of hexagons among lines: terminals and horizontal sides lie in line, and outlines are three times as thick as
/// lines.
fn sides_of_hexes(sought: &Sought) -> Sought {
    Sought {
        gaps: 0.0,
        aside: 2 * sought.aside,
        ..*sought
    }
}

/// The one board that there is on some grids, the most likely ones first.
fn try_grids(
    picture: &Picture<'_>,
    config: &Config,
    grids: Vec<Grid>,
    ink: Ink,
    effort: &mut Effort,
    steps: &mut Steps,
) -> Result<Result<Read, Refusal>, ReadError> {
    let mut refusal = Refusal::NoGrid;
    let mut found: Option<Read> = None;
    for grid in grids.into_iter().take(MOST_GRIDS) {
        let bounds = grid.bounds();
        let overlaps = |other: &Read| overlap(bounds, other.grid.bounds());
        if found.as_ref().is_some_and(overlaps) {
            continue;
        }
        // Grids of hexagons are wider than their boards.
        if grid.lattice == Lattice::Square
            && let Err(size) = has_size(&grid, config)
        {
            if size.progress() > refusal.progress() {
                refusal = size;
            }
            continue;
        }
        if !effort.take(&grid) {
            break;
        }
        match (try_grid(picture, config, &grid, ink, steps)?, &found) {
            (Ok(read), None) => found = Some(read),
            (Ok(read), Some(first)) => {
                let share = area(read.grid.bounds()) / area(first.grid.bounds());
                if (0.5..=2.0).contains(&share) {
                    return Ok(Err(Refusal::TwoBoards));
                }
                if share > 1.0 {
                    found = Some(read);
                }
            }
            (Err(new), _) if new.progress() > refusal.progress() => refusal = new,
            _ => {}
        }
    }
    Ok(found.ok_or(refusal))
}

/// One grid.
fn try_grid(
    picture: &Picture<'_>,
    config: &Config,
    grid: &Grid,
    ink: Ink,
    steps: &mut Steps,
) -> Result<Result<Read, Refusal>, ReadError> {
    illustration::grid_lines(picture, grid, steps);
    let read = read_board(picture, grid, Beyond::Nothing, ink, steps)?;
    // Only now the size of a board of hexagons is known.
    Ok(read.and_then(|read| match has_size(&read.grid, config) {
        Ok(()) => Ok(read),
        Err(size) => Err(size),
    }))
}

/// Whether a grid has as many cells as boards have.
///
/// # Errors
/// [`Refusal::Size`].
fn has_size(grid: &Grid, config: &Config) -> Result<(), Refusal> {
    let (rows, cols) = (grid.rows(), grid.cols());
    let (min, max) = (config.min_cells, config.max_cells);
    let fits = rows.min(cols) >= min && rows.max(cols) <= max;
    fits.then_some(()).ok_or(Refusal::Size {
        rows,
        cols,
        min,
        max,
    })
}

/// Whether what was seen of a board of hexagons has as many cells as boards have at most: its grid has more.
fn may_be_board(grid: &Grid, config: &Config) -> bool {
    let most = config.max_cells + 2 * hex_grid::AROUND;
    grid.rows().max(grid.cols()) <= most
}

fn area([_, _, width, height]: [f64; 4]) -> f64 {
    width * height
}

/// Whether two rectangles share more than their rims.
fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    let shared =
        |axis: usize| (a[axis] + a[axis + 2]).min(b[axis] + b[axis + 2]) - a[axis].max(b[axis]);
    let rim = 0.02 * (a[2] + b[2]);
    shared(0) > rim && shared(1) > rim
}
