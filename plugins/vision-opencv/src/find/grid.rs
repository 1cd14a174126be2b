//! A grid of cells over a picture.

use flowpipe_plugin::puzzle::{Cell, Geometry, Lattice, Point};

use crate::find::border::Border;
use crate::numerics::regression;

/// A border line is placed by the lines inside if it is farther than this from where they have it, in cells, and there
/// are more of them than `FEWEST_INSIDE`.
const OFF: f64 = 0.04;
/// And so many times as far as any of those.
const EVEN: f64 = 6.0;
const FEWEST_INSIDE: usize = 3;

/// Where the cells of a board lie, in frame pixels.
///
/// Squares lie between the lines. A hexagon's centre lies in the middle between two lines, or half a row
/// lower in every other column, and it stands out by a sixth of a column to both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// How cells touch.
    pub lattice: Lattice,
    /// Where the vertical lines are, from left to right: one more than columns.
    pub xs: Vec<f64>,
    /// Where the horizontal lines are, from top to bottom: one more than rows.
    pub ys: Vec<f64>,
    /// The shorter side of a cell: from one line to the next.
    pub cell: f64,
}

impl Grid {
    /// Squares between lines. `cell`: pixels from one line to the next.
    #[must_use]
    pub fn squares(xs: Vec<f64>, ys: Vec<f64>, cell: f64) -> Self {
        Self {
            lattice: Lattice::Square,
            xs,
            ys,
            cell,
        }
    }

    /// Hexagons with their columns and rows at these places.
    #[must_use]
    pub fn hexes(xs: Vec<f64>, ys: Vec<f64>) -> Self {
        let cell = (xs[1] - xs[0]).min(ys[1] - ys[0]);
        Self {
            lattice: Lattice::Hex,
            xs,
            ys,
            cell,
        }
    }

    /// Rows of cells.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ys.len() - 1
    }

    /// Columns of cells.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.xs.len() - 1
    }

    /// How many cells there is room for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows() * self.cols()
    }

    /// The centre of a cell, in frame pixels.
    #[must_use]
    pub fn centre(&self, row: usize, col: usize) -> (f64, f64) {
        let lowered = match self.lattice {
            Lattice::Hex if col.is_multiple_of(2) => (self.ys[row + 1] - self.ys[row]) / 2.0,
            _ => 0.0,
        };
        (
            (self.xs[col] + self.xs[col + 1]) / 2.0,
            (self.ys[row] + self.ys[row + 1]) / 2.0 + lowered,
        )
    }

    /// The centre of a cell given by its index, in frame pixels.
    #[must_use]
    pub fn centre_of(&self, cell: Cell) -> Point {
        let (x, y) = self.centre(cell / self.cols(), cell % self.cols());
        [x, y]
    }

    /// The cell whose centre is less than half a cell from a place in the frame.
    #[must_use]
    pub fn cell_near(&self, [x, y]: Point) -> Option<Cell> {
        (0..self.len()).find(|&cell| {
            let [own_x, own_y] = self.centre_of(cell);
            (x - own_x).hypot(y - own_y) < 0.5 * self.cell
        })
    }

    /// Frame pixels of left, top, width and height.
    #[must_use]
    pub fn bounds(&self) -> [f64; 4] {
        let (left, top) = (self.xs[0], self.ys[0]);
        [
            left,
            top,
            self.xs[self.cols()] - left,
            self.ys[self.rows()] - top,
        ]
    }

    /// The same with a row or column more beyond a border.
    #[must_use]
    pub fn widened(mut self, border: Border) -> Self {
        let beyond = |lines: &[f64]| {
            let (first, last) = (lines[0], lines[lines.len() - 1]);
            let step = (last - first) / (lines.len() - 1) as f64;
            (first - step, last + step)
        };
        match border {
            Border::Upper => self.ys.insert(0, beyond(&self.ys).0),
            Border::Right => self.xs.push(beyond(&self.xs).1),
            Border::Lower => self.ys.push(beyond(&self.ys).1),
            Border::Left => self.xs.insert(0, beyond(&self.xs).0),
        }
        self
    }

    /// The place in the frame. What lies close to a border line of squares may look like a part of it: one that is too
    /// far from where the lines inside have it is placed by those.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        let [mut x, mut y, mut width, mut height] = self.bounds();
        if self.lattice == Lattice::Square {
            [x, width] = extent(&self.xs, self.cell);
            [y, height] = extent(&self.ys, self.cell);
        }
        Geometry::axis_aligned(x, y, width, height, self.rows(), self.cols())
    }
}

/// Where evenly spaced lines begin, and how far it is to the last one.
fn extent(lines: &[f64], cell: f64) -> [f64; 2] {
    let last = lines.len() - 1;
    let inner = lines.iter().enumerate().take(last).skip(1);
    let points = inner.map(|(index, at)| (index as f64, *at, 1.0));
    let placed = (last > FEWEST_INSIDE + 1).then(|| regression::line(points.clone()));
    let end = |index: usize| match placed.flatten() {
        Some((start, step)) => {
            let off = |index: f64, at: f64| (at - start - index * step).abs();
            // Of a board in perspective those inside are not evenly spaced either.
            let inside = points.clone().map(|(index, at, _)| off(index, at));
            let most = inside.fold(OFF * cell / EVEN, f64::max);
            match off(index as f64, lines[index]) > EVEN * most {
                true => start + index as f64 * step,
                false => lines[index],
            }
        }
        None => lines[index],
    };
    [end(0), end(last) - end(0)]
}
