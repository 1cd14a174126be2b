//! The places in a cell to examine, in any lattice.

use flowpipe_plugin::puzzle::place::{corners, offset};
use flowpipe_plugin::puzzle::{Cell, Direction, Lattice, Point};

use crate::find::grid::Grid;
use crate::picture::cache::{Area, CacheKey};
use crate::picture::{Picture, Rgb};

/// Nothing but the rims of terminals is examined farther from a cell's centre, as a share of the way to its corners.
pub const INSIDE: f64 = 0.86;

/// Where the parts of cells lie, in frame pixels.
pub struct CellLayout<'a> {
    grid: &'a Grid,
    /// From one column to the next and from one row to the next.
    pitch: Point,
    /// The diameter of the largest circle in a cell.
    pub span: f64,
    /// The side of the square of pixels that a [`Self::soft`] sample is the mean of.
    side: i64,
}

impl<'a> CellLayout<'a> {
    /// Those of a grid.
    #[must_use]
    pub fn new(grid: &'a Grid) -> Self {
        let [_, _, width, height] = grid.bounds();
        let pitch = [width / grid.cols() as f64, height / grid.rows() as f64];
        let span = match grid.lattice {
            Lattice::Square => grid.cell,
            Lattice::Hex => pitch[1],
        };
        Self {
            grid,
            pitch,
            span,
            side: ((0.045 * span).round() as i64).clamp(1, 3),
        }
    }

    /// Where a cell's centre is.
    #[must_use]
    pub fn centre(&self, cell: Cell) -> Point {
        self.grid.centre_of(cell)
    }

    /// How many corners a cell has.
    #[must_use]
    pub fn corners(&self) -> usize {
        corners(self.grid.lattice).len()
    }

    /// A corner, from the centre: side `d` runs from corner `d` to corner `d + 1`.
    #[must_use]
    pub fn corner(&self, corner: usize) -> Point {
        let corners = corners(self.grid.lattice);
        self.scaled(corners[corner % corners.len()], 1.0)
    }

    /// The middle of the side in a direction, from the centre.
    #[must_use]
    pub fn side(&self, direction: Direction) -> Point {
        self.scaled(offset(self.grid.lattice, direction), 0.5)
    }

    /// A stretch along a side, inside of the cell and seen from its centre, from beside a corner to the
    /// place where pipes begin. Rails of bridges cross it, nothing else.
    #[must_use]
    pub fn beside(&self, side: usize, at_next: bool) -> [Point; 2] {
        // The rails make an angle at each corner, a fifth of a side from both of its sides.
        let (inwards, end) = match self.grid.lattice {
            Lattice::Square => (0.27, 0.22),
            // Farther from the side than a thick outline reaches in small cells.
            Lattice::Hex => (0.18, 0.18),
        };
        let (from, to) = if at_next {
            (side + 1, side)
        } else {
            (side, side + 1)
        };
        let [from, to] =
            [from, to].map(|corner| self.corner(corner).map(|at| at * (1.0 - inwards)));
        let end = [0, 1].map(|axis| from[axis] + end * (to[axis] - from[axis]));
        [from, end]
    }

    /// Whether rails may reach the beginning of such a stretch.
    #[must_use]
    pub fn rails_reach(&self) -> bool {
        self.grid.lattice == Lattice::Hex
    }

    /// Where between the centre and its corners a cell shows what is behind it, as a share of the way.
    #[must_use]
    pub fn clear(&self) -> f64 {
        match self.grid.lattice {
            Lattice::Square => 0.84,
            // Farther out the rails of bridges lie.
            Lattice::Hex => 0.72,
        }
    }

    /// How far out a point is that is given from the centre in spans: on the cell's sides it is a half.
    #[must_use]
    pub fn outwards(&self, (x, y): (f64, f64)) -> f64 {
        // The sides of a hexagon look up, down and to both sides at a slope of 30 degrees.
        const SLOPE: (f64, f64) = (0.866_025_403_784_438_6, 0.5);
        let (x, y) = (x.abs(), y.abs());
        match self.grid.lattice {
            Lattice::Square => x.max(y),
            Lattice::Hex => y.max(SLOPE.0 * x + SLOPE.1 * y),
        }
    }

    /// The mean colour of a few pixels around a point: one where cells are small, nine where they are
    /// large. `None` where one lies outside of the picture.
    #[inline]
    #[must_use]
    pub fn soft(&self, picture: &Picture<'_>, [x, y]: Point) -> Option<Rgb> {
        let side = self.side;
        let total = picture.sum_of_square([first(x, side), first(y, side)], side as u32)?;
        let count = (side * side) as u32;
        Some(total.map(|sum| ((sum + count / 2) / count) as u8))
    }

    /// What the reading of the cell around a place depends on besides pixels, and one more number.
    #[must_use]
    pub fn key(&self, [x, y]: Point, other: f64) -> CacheKey {
        CacheKey::new([x, y, self.pitch[0], self.pitch[1], self.span, other])
    }

    /// All pixels of the cell around a place, to a share of the way from there to its corners.
    #[must_use]
    pub fn area(&self, centre: Point, share: f64) -> Area {
        let corners = (0..self.corners()).map(|corner| self.corner(corner).map(f64::abs));
        let most = corners.fold([0.0; 2], |[x, y]: Point, [a, b]| [x.max(a), y.max(b)]);
        // Points are means of some pixels around.
        Area::around(centre, most.map(|at| share * at + 3.0))
    }

    fn scaled(&self, [x, y]: Point, by: f64) -> Point {
        [x * by * self.pitch[0], y * by * self.pitch[1]]
    }
}

/// The first of `side` pixels around a place.
#[inline]
fn first(at: f64, side: i64) -> i64 {
    let first = at - side as f64 / 2.0 + 0.5;
    // Downwards, where a cast goes towards zero: faster than `floor`, and this is done for every point.
    let cut = first as i64;
    cut - i64::from((cut as f64) > first)
}
