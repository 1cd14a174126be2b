//! Searches a picture for a board, with nothing known before.

use flowpipe_plugin::puzzle::Lattice;
use flowpipe_plugin::puzzle::message::SeenBoard;

use crate::config::Config;
use crate::find::candidates::{ATTEMPTS, CandidateFinder, LYING_ATTEMPTS};
use crate::find::grid::Grid;
use crate::find::lines::criteria::LineCriteria;
use crate::find::{hex_grid, square_grid};
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::picture::rotation::{self, RotatedPicture};
use crate::read::board::{BoardReading, read_solvable_or_not};
use crate::read::error::ReadError;
use crate::read::illustration;
use crate::read::shape::surroundings::Surroundings;
use crate::refuse::refusal::Refusal;
use crate::refuse::{size, solvability};
use crate::steps::Steps;

/// Grids examined for one attempt.
const MOST_GRIDS: usize = 12;

/// Searches pictures, one after the other. It keeps nothing of them but memory.
#[derive(Default)]
pub struct BoardSearch {
    candidates: CandidateFinder,
    /// What was read in the picture and refused because it has no solution by Flow Free's rules.
    unsolvable: Vec<BoardReading>,
}

impl BoardSearch {
    /// Searches a picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    pub fn search(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Result<BoardReading, Refusal>, ReadError> {
        self.candidates.take(picture);
        self.unsolvable.clear();
        steps.done("samples");
        let mut refusal = Refusal::NoShape;
        for attempt in ATTEMPTS {
            let criteria = self.candidates.criteria(config, attempt);
            match self.attempt(picture, config, &criteria, steps)? {
                Ok(read) => return Ok(Ok(read)),
                Err(Refusal::TwoBoards) => return Ok(Err(Refusal::TwoBoards)),
                Err(new) if new.progress() > refusal.progress() => refusal = new,
                Err(_) => {}
            }
            if self.is_spent() {
                break;
            }
        }
        Ok(Err(refusal))
    }

    /// The boards in the picture that was searched last that were refused because they have no solution.
    pub fn take_unsolvable(&mut self) -> Vec<BoardReading> {
        std::mem::take(&mut self.unsolvable)
    }

    /// Whether the picture that was searched last is so full of lines that not all of them were examined.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.candidates.budget.is_spent()
    }

    /// What may be boards in the picture that was searched last.
    pub fn candidates(&mut self) -> &mut CandidateFinder {
        &mut self.candidates
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
            let criteria = self.candidates.criteria(config, attempt);
            let hexes = self.candidates.lying_hexes(&criteria, config);
            if hexes.is_empty() {
                continue;
            }
            let turned = quarter.get_or_insert_with(|| RotatedPicture::clockwise(picture));
            let turned = turned.picture()?;
            let hexes = hex_grid::placed(hexes, &turned, criteria.polarity);
            steps.done("grid");
            if let Ok(BoardReading { mut board, .. }) =
                self.try_grids(&turned, config, hexes, criteria.polarity, steps)?
            {
                board.geometry = rotation::geometry_back(board.geometry, picture.height());
                return Ok(Some(board));
            }
        }
        steps.done("grid");
        Ok(None)
    }

    /// All grids of lines that stand out by a level.
    fn attempt(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        criteria: &LineCriteria,
        steps: &mut Steps,
    ) -> Result<Result<BoardReading, Refusal>, ReadError> {
        let [vertical, horizontal] = self.candidates.lines(criteria);
        steps.done("lines");
        illustration::lines(picture, &vertical, &horizontal, steps);
        if horizontal.is_empty() {
            return Ok(Err(Refusal::NoShape));
        }
        let squares = square_grid::find(&vertical, &horizontal, config);
        steps.done("grid");
        let mut read = self.try_grids(picture, config, squares, criteria.polarity, steps)?;
        if read.is_err() {
            let hexes = self.candidates.hexes(picture, criteria, config);
            steps.done("grid");
            let other = self.try_grids(picture, config, hexes, criteria.polarity, steps)?;
            let is_better = |refusal: &Refusal| match &other {
                Ok(_) => true,
                // Where the sides of hexagons are not drawn, or nothing lies in them, there is rather no board of
                // them: the refusal of squares helps more.
                Err(
                    Refusal::SidesMissing { .. }
                    | Refusal::GoesOn { .. }
                    | Refusal::MayGoOn { .. }
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

    /// The one board that there is on some grids, the most likely ones first.
    fn try_grids(
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        grids: Vec<Grid>,
        polarity: Polarity,
        steps: &mut Steps,
    ) -> Result<Result<BoardReading, Refusal>, ReadError> {
        let mut refusal = Refusal::NoGrid;
        let mut found: Option<BoardReading> = None;
        for grid in grids.into_iter().take(MOST_GRIDS) {
            let bounds = grid.bounds();
            let overlaps = |other: &BoardReading| overlap(bounds, other.grid.bounds());
            if found.as_ref().is_some_and(overlaps) {
                continue;
            }
            // Grids of hexagons are wider than their boards.
            if grid.lattice == Lattice::Square
                && let Err(size) = size::check(&grid, config)
            {
                if size.progress() > refusal.progress() {
                    refusal = size;
                }
                continue;
            }
            if !self.candidates.budget.take(&grid) {
                break;
            }
            match (
                self.try_grid(picture, config, &grid, polarity, steps)?,
                &found,
            ) {
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
        &mut self,
        picture: &Picture<'_>,
        config: &Config,
        grid: &Grid,
        polarity: Polarity,
        steps: &mut Steps,
    ) -> Result<Result<BoardReading, Refusal>, ReadError> {
        illustration::grid_lines(picture, grid, steps);
        let read = read_solvable_or_not(picture, grid, Surroundings::Empty, polarity, steps)?;
        // Only now the size of a board of hexagons is known.
        let read = read.and_then(|read| size::check(&read.grid, config).map(|()| read));
        Ok(read.and_then(|read| {
            let checked = solvability::check(&read.board.puzzle);
            steps.done("solvable");
            match checked {
                Ok(()) => Ok(read),
                Err(refusal) => {
                    self.unsolvable.push(read);
                    Err(refusal)
                }
            }
        }))
    }
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
