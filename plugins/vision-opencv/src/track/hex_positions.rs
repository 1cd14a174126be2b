//! The positions of the sides of a board of hexagons, to a fraction of a pixel: whether it is where it was.
//!
//! A board whose sides, across several directions, are in place in each of its quarters is neither moved nor scaled nor
//! turned.

use flowpipe_plugin::puzzle::{Direction, Lattice, Point};

use crate::find::cell_side;
use crate::find::grid::Grid;
use crate::find::profile::StretchPlace;
use crate::numerics::quantile::median;
use crate::picture::Picture;
use crate::read::shape::line_model::LineAppearance;
use crate::track::line_positions::{BLURRED, STILL, UPRIGHT, shift};

/// Cells whose sides are examined, at most.
const CELLS: usize = 160;
/// Three sides of each cell are its own, the others its neighbours'.
const DIRECTIONS: u8 = 3;
/// The fewest sides of a direction in a quarter of the board that count.
const FEWEST: usize = 2;

/// Where the sides of a board lie.
#[derive(Clone, Debug)]
pub struct HexPositions {
    marks: Vec<SideStretch>,
    look: LineAppearance,
}

/// A short stretch of a side.
#[derive(Clone, Copy, Debug)]
struct SideStretch {
    place: StretchPlace,
    /// In which quarter of the board, and in which direction from its cell.
    group: usize,
    /// How many pixels it lies aside of its place.
    shift: f64,
}

const GROUPS: usize = 4 * DIRECTIONS as usize;

impl HexPositions {
    /// Finds the sides of a grid. `None` where too few are seen, or they are not where those of regular hexagons
    /// seen from the front are.
    #[must_use]
    pub fn find(picture: &Picture<'_>, grid: &Grid, look: LineAppearance) -> Option<Self> {
        if grid.lattice != Lattice::Hex {
            return None;
        }
        let marks = marks(grid, &look).filter_map(|mark| {
            let shift = shift(picture, &mark.place, &look)?;
            Some(SideStretch { shift, ..mark })
        });
        let places = Self {
            marks: marks.collect(),
            look,
        };
        let most = UPRIGHT + BLURRED * look.thickness;
        let is_regular = places.are_within(most, |mark| Some(mark.shift));
        is_regular.then_some(places)
    }

    /// Whether all sides are in their places in another picture.
    #[must_use]
    pub fn hold(&self, picture: &Picture<'_>) -> bool {
        self.are_within(STILL, |mark| {
            Some(shift(picture, &mark.place, &self.look)? - mark.shift)
        })
    }

    /// Whether in each quarter of the board the median of each direction's shifts is at most `most` pixels.
    fn are_within(&self, most: f64, shift: impl Fn(&SideStretch) -> Option<f64>) -> bool {
        let mut groups: [Vec<f64>; GROUPS] = Default::default();
        for mark in &self.marks {
            if let Some(shift) = shift(mark) {
                groups[mark.group].push(shift);
            }
        }
        let seen: usize = groups.iter().map(Vec::len).sum();
        let is_seen = |quarter: &[Vec<f64>]| {
            quarter
                .iter()
                .filter(|shifts| shifts.len() >= FEWEST)
                .count()
                >= 2
        };
        let all_seen = groups.chunks(DIRECTIONS.into()).all(is_seen);
        let mut counted = groups.into_iter().filter(|shifts| shifts.len() >= FEWEST);
        all_seen
            && self.marks.len() <= 2 * seen
            && counted.all(|shifts| median(shifts).is_some_and(|shift| shift.abs() <= most))
    }
}

/// Where to look for the sides of a grid.
fn marks(grid: &Grid, look: &LineAppearance) -> impl Iterator<Item = SideStretch> {
    let [left, top, width, height] = grid.bounds();
    let middle: Point = [left + width / 2.0, top + height / 2.0];
    let every = grid.len().div_ceil(CELLS);
    let polarity = look.polarity;
    (0..grid.len()).step_by(every).flat_map(move |cell| {
        let [x, y] = grid.centre_of(cell);
        let quarter = usize::from(x > middle[0]) + 2 * usize::from(y > middle[1]);
        (0..DIRECTIONS).map(move |way| {
            let side = cell_side::place(grid, cell, Direction(way), false, polarity);
            // Now one end, now the other.
            let stretch = cell_side::stretches(grid.lattice)[(cell + usize::from(way)) % 2];
            SideStretch {
                place: side.part(stretch),
                group: quarter * usize::from(DIRECTIONS) + usize::from(way),
                shift: 0.0,
            }
        })
    })
}
