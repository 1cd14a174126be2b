//! Which cell lies where: by arithmetic on plain rectangles, by tables everywhere else.
//!
//! Cells of the search are renumbered, so that every access beyond a border meets a *sentinel*: a
//! cell without shapes. Number 0 always is one.

use crate::shapes::{Shapes, Square};

/// A board as the search sees it.
pub trait Topology {
    /// Its lattice.
    type Shapes: Shapes;

    /// The cell that a way leads to, or a sentinel.
    fn neighbour(&self, cell: usize, way: usize) -> usize;
    /// The cell that lies ahead of a turn (see [`crate::shapes`]), or a sentinel where the lemma does
    /// not hold because one of the four passages between these cells is missing.
    fn ahead(&self, cell: usize, turn: usize) -> usize;
    /// The cell that has this one ahead of a turn, or a sentinel.
    fn behind(&self, cell: usize, turn: usize) -> usize;
    /// Whether there is a passage between two cells.
    fn adjacent(&self, a: usize, b: usize) -> bool;
}

/// A plain rectangle with a border of sentinels; the right border is the next row's left one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    /// Steps by way.
    steps: [isize; 4],
    /// Steps to the cell ahead of a turn.
    ahead: [isize; 4],
}

impl Grid {
    /// A grid of so many columns.
    pub fn new(cols: usize) -> Self {
        let width = (cols + 1) as isize;
        Self {
            steps: [-width, 1, width, -1],
            ahead: [1 - width, 1 + width, width - 1, -width - 1],
        }
    }
}

impl Topology for Grid {
    type Shapes = Square;

    #[inline(always)]
    fn neighbour(&self, cell: usize, way: usize) -> usize {
        cell.wrapping_add_signed(self.steps[way & 3])
    }

    #[inline(always)]
    fn ahead(&self, cell: usize, turn: usize) -> usize {
        cell.wrapping_add_signed(self.ahead[turn & 3])
    }

    #[inline(always)]
    fn behind(&self, cell: usize, turn: usize) -> usize {
        cell.wrapping_add_signed(self.ahead[turn & 3 ^ 2])
    }

    #[inline(always)]
    fn adjacent(&self, a: usize, b: usize) -> bool {
        let step = a.abs_diff(b);
        step == 1 || step == self.steps[2].unsigned_abs()
    }
}

/// Any board, by tables.
pub struct Linked<'a, S> {
    pub tables: &'a Tables,
    pub shapes: std::marker::PhantomData<S>,
}

/// Where ways and turns lead; 0 where nothing is.
#[derive(Default)]
pub struct Tables {
    /// By way.
    pub neighbour: Vec<[u32; 6]>,
    /// By turn.
    pub ahead: Vec<[u32; 6]>,
    /// By turn.
    pub behind: Vec<[u32; 6]>,
}

impl<S: Shapes> Topology for Linked<'_, S> {
    type Shapes = S;

    #[inline(always)]
    fn neighbour(&self, cell: usize, way: usize) -> usize {
        self.tables.neighbour[cell][way] as usize
    }

    #[inline(always)]
    fn ahead(&self, cell: usize, turn: usize) -> usize {
        self.tables.ahead[cell][turn] as usize
    }

    #[inline(always)]
    fn behind(&self, cell: usize, turn: usize) -> usize {
        self.tables.behind[cell][turn] as usize
    }

    #[inline(always)]
    fn adjacent(&self, a: usize, b: usize) -> bool {
        let b = b as u32;
        let row = &self.tables.neighbour[a];
        row[..S::WAYS].contains(&b)
    }
}
