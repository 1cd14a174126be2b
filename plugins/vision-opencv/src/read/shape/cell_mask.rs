//! The mask of the cells that exist, and the check of their outline.

use flowpipe_plugin::puzzle::{Cell, Lattice};

use crate::find::border::Border;
use crate::find::grid::Grid;
use crate::read::shape::board_shape::BoardShape;
use crate::read::shape::line_model::{LineModel, UNSEEN};
use crate::read::shape::sides::{Side, Sides};
use crate::refuse::refusal::Refusal;

/// This share of the outline of a board that is no rectangle is seen to be thick.
const OUTLINED: f64 = 0.9;
/// This share of a plain rectangle's border may be taken for thick.
const PLAIN_BORDER: f64 = 0.3;

/// Why a grid does not hold.
pub enum GridMismatch {
    /// It has cells beyond a border.
    Wider(Border),
    /// It is none.
    Refused(Refusal),
}

impl From<Refusal> for GridMismatch {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Which cells of a grid are there.
pub struct CellMask {
    /// By cell.
    pub is_there: Vec<bool>,
    /// Whether it is drawn thick, by side.
    pub is_thick: Vec<bool>,
}

impl CellMask {
    /// Decides by how the sides are drawn. `all_drawn`: every one of them is.
    pub fn new(sides: &Sides, measure: &LineModel, grid: &Grid, all_drawn: bool) -> Self {
        let thick = sides.all.iter().map(|side| measure.thick().is_thick(side));
        let is_thick: Vec<bool> = thick.collect();
        let is_there = if all_drawn {
            // All cells are there, except for holes of one cell, which thick lines surround.
            let is_hole = |cell: Cell| sides.of(cell).all(|side| is_thick[side]);
            (0..grid.len()).map(|cell| !is_hole(cell)).collect()
        } else {
            let drawn = sides.all.iter().map(|side| measure.draws(side));
            let drawn: Vec<bool> = drawn.collect();
            with_hidden(sides, measure, grid, &is_thick, &drawn)
                .unwrap_or_else(|| closed(sides, grid, &is_thick, &drawn))
        };
        Self { is_there, is_thick }
    }

    /// The sides of all cells that are there.
    pub fn sides<'a>(&'a self, sides: &'a Sides) -> impl Iterator<Item = &'a Side> {
        sides.all.iter().filter(|side| {
            let cells = [Some(side.cell), side.other];
            cells.into_iter().flatten().any(|cell| self.is_there[cell])
        })
    }

    /// Whether a side lies between a cell that is there and none.
    pub fn is_outline(&self, side: &Side) -> bool {
        self.is_there[side.cell] != side.other.is_some_and(|other| self.is_there[other])
    }

    /// A board that is no whole rectangle has a thick outline, and a whole one a thick or a thin one all around.
    /// Gives the border that it may go on beyond, if there is a side that may be either. `open`: sides that a board
    /// that warps leaves open.
    pub fn check_outline(
        &self,
        sides: &Sides,
        measure: &LineModel,
        grid: &Grid,
        all_drawn: bool,
        open: &[usize],
    ) -> Result<Option<Border>, GridMismatch> {
        let outline = || {
            let sides = sides.all.iter().enumerate();
            let closed = sides.filter(|(index, _)| !open.contains(index));
            closed.filter(|(_, side)| self.is_outline(side))
        };
        let count = outline().count() as f64;
        let thick = outline().filter(|(index, _)| self.is_thick[*index]).count() as f64;
        if all_drawn && thick <= PLAIN_BORDER * count {
            return Ok(None);
        }
        let border = |side: &Side| match (side.other, grid.lattice) {
            (None, Lattice::Square) => Border::ALL.get(usize::from(side.direction.0)).copied(),
            _ => None,
        };
        let thin = outline()
            .map(|(_, side)| side)
            .find(|side| measure.is_thin(side));
        if let Some(border) = thin.and_then(border) {
            return Err(GridMismatch::Wider(border));
        }
        if thick >= OUTLINED * count && thin.is_none() {
            let mut others = outline().filter(|(index, _)| !self.is_thick[*index]);
            return Ok(others.find_map(|(_, side)| border(side)));
        }
        let shows = |side: &&Side| !measure.shows(side);
        let missing = sides.all.iter().filter(shows);
        let first = missing.clone().next().map_or(0, |side| side.cell);
        Err(GridMismatch::Refused(Refusal::SidesMissing {
            missing: missing.count(),
            all: sides.all.len(),
            rows: grid.rows(),
            cols: grid.cols(),
            row: first / grid.cols() + 1,
            col: first % grid.cols() + 1,
        }))
    }

    /// Whether a side lies between two cells that are there.
    pub fn joins(&self, side: &Side) -> bool {
        let is_there = |cell: Cell| self.is_there[cell];
        is_there(side.cell) && side.other.is_some_and(is_there)
    }

    /// The holes and the walls between cells that are there.
    pub fn shape(&self, sides: &Sides) -> BoardShape {
        let walls = sides.all.iter().zip(&self.is_thick);
        let walls = walls.filter(|(side, is_thick)| **is_thick && self.joins(side));
        let walls = walls.filter_map(|(side, _)| {
            let other = side.other?;
            Some((side.cell.min(other), side.cell.max(other)))
        });
        let mut walls: Vec<_> = walls.collect();
        walls.sort_unstable();
        BoardShape {
            holes: (0..self.is_there.len())
                .filter(|&cell| !self.is_there[cell])
                .collect(),
            walls,
            warps: false,
        }
    }
}

/// As [`closed`], with sides that bright tints may hide. `None` where they would be more than few.
fn with_hidden(
    sides: &Sides,
    measure: &LineModel,
    grid: &Grid,
    is_thick: &[bool],
    drawn: &[bool],
) -> Option<Vec<bool>> {
    let shown = sides.all.iter().map(|side| measure.may_draw(side));
    let shown: Vec<bool> = shown.collect();
    if shown == drawn {
        return None;
    }
    let is_there = closed(sides, grid, is_thick, &shown);
    let own = |side: &usize| {
        let side = &sides.all[*side];
        is_there[side.cell] || side.other.is_some_and(|other| is_there[other])
    };
    let own: Vec<usize> = (0..sides.all.len()).filter(own).collect();
    let hidden = own.iter().filter(|&&side| !drawn[side]).count();
    (hidden <= own.len() / UNSEEN).then_some(is_there)
}

/// The most cells that hang together of those that have all sides drawn.
fn closed(sides: &Sides, grid: &Grid, is_thick: &[bool], drawn: &[bool]) -> Vec<bool> {
    let mut is_closed: Vec<bool> = (0..grid.len())
        .map(|cell| sides.of(cell).all(|side| drawn[side]))
        .collect();
    let mut largest = Vec::new();
    for first in 0..grid.len() {
        if !is_closed[first] {
            continue;
        }
        is_closed[first] = false;
        let mut part = vec![first];
        let mut next = 0;
        while let Some(&cell) = part.get(next) {
            next += 1;
            for side in sides.of(cell).filter(|side| !is_thick[*side]) {
                let side = &sides.all[side];
                let beside = [Some(side.cell), side.other];
                for other in beside.into_iter().flatten() {
                    if is_closed[other] {
                        is_closed[other] = false;
                        part.push(other);
                    }
                }
            }
        }
        if part.len() > largest.len() {
            largest = part;
        }
    }
    let mut is_there = vec![false; grid.len()];
    for cell in largest {
        is_there[cell] = true;
    }
    is_there
}
