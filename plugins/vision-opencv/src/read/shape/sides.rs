//! The sides of all cells of a grid, and how the line along each of them looks.
//!
//! A side is examined near its two ends, where no pipe and no terminal hides a line.

use flowpipe_plugin::puzzle::board::Description;
use flowpipe_plugin::puzzle::graph::{Direction, directions, step};
use flowpipe_plugin::puzzle::{Cell, Lattice};

use crate::find::cell_side;
use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::read::shape::stretch::Stretch;

/// A side of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The cell, of two that share the side the first one.
    pub cell: Cell,
    /// The way from it over the side.
    pub direction: Direction,
    /// The cell beyond, if the bounding grid has one.
    pub other: Option<Cell>,
    /// The line across the whole grid that it is a part of. `None` among hexagons, whose lines bend.
    pub line: Option<GridLine>,
    /// How it looks near its ends.
    pub looks: [Stretch; 2],
}

/// A line across a whole grid of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GridLine {
    /// By the number of rows above it.
    Horizontal(usize),
    /// By the number of columns to the left of it.
    Vertical(usize),
}

impl GridLine {
    fn of(grid: &Grid, cell: Cell, direction: Direction) -> Option<Self> {
        let (row, col) = (cell / grid.cols(), cell % grid.cols());
        match (grid.lattice, direction.0) {
            (Lattice::Hex, _) => None,
            (Lattice::Square, 0) => Some(Self::Horizontal(row)),
            (Lattice::Square, 1) => Some(Self::Vertical(col + 1)),
            (Lattice::Square, 2) => Some(Self::Horizontal(row + 1)),
            (Lattice::Square, _) => Some(Self::Vertical(col)),
        }
    }
}

/// All sides of a lattice.
pub struct Sides {
    /// Each one once.
    pub all: Vec<Side>,
    /// By cell and direction, the index of the side.
    of: Vec<[usize; 6]>,
    ways: usize,
}

impl Sides {
    /// Examines all sides.
    #[must_use]
    pub fn look(picture: &Picture<'_>, grid: &Grid, polarity: Polarity) -> Self {
        let description = Description {
            rows: grid.rows(),
            cols: grid.cols(),
            lattice: grid.lattice,
            ..Description::default()
        };
        let ways = directions(grid.lattice);
        let mut sides = Self {
            all: Vec::with_capacity(grid.len() * usize::from(ways) / 2 + grid.rows() * 4),
            of: vec![[0; 6]; grid.len()],
            ways: usize::from(ways),
        };
        for cell in 0..grid.len() {
            for direction in (0..ways).map(Direction) {
                let other = step(&description, cell, direction);
                let way = usize::from(direction.0);
                if let Some(other) = other.filter(|other| *other < cell) {
                    let back = usize::from(direction.opposite(grid.lattice).0);
                    sides.of[cell][way] = sides.of[other][back];
                    continue;
                }
                let place = cell_side::place(grid, cell, direction, other.is_none(), polarity);
                let looks = cell_side::stretches(grid.lattice)
                    .map(|share| Stretch::look(picture, &place.part(share), grid.cell));
                sides.of[cell][way] = sides.all.len();
                sides.all.push(Side {
                    cell,
                    direction,
                    other,
                    line: GridLine::of(grid, cell, direction),
                    looks,
                });
            }
        }
        sides
    }

    /// The sides of a cell, by direction.
    pub fn of(&self, cell: Cell) -> impl Iterator<Item = usize> + '_ {
        self.of[cell][..self.ways].iter().copied()
    }
}
