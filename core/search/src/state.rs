//! What is known of each cell, and how to go back.

use crate::shapes::{Domain, Shapes};

/// The number of a flow's colour, or of one of its ends; 0: none yet.
pub type Owner = u32;

/// What is known of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// Shapes that it can still have.
    pub domain: Domain,
    /// Facts that have been acted upon: see [`Shapes::facts`].
    pub known: u32,
    /// For an end of a fragment (a path of joined cells): its other end. A cell alone is both.
    pub mate: u32,
    /// Whose it is. All cells of a fragment have the same.
    pub owner: Owner,
}

/// Set in `known` while the cell waits in the queue.
pub const QUEUED: u32 = 1 << 31;

/// A choice that can be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    pub cell: u32,
    pub chosen: Domain,
    /// A place on the trail: see [`State::mark`].
    pub mark: usize,
    /// Where in the order of cells the next undecided one is looked for.
    pub place: usize,
}

/// What is known of all cells, with a way back.
#[derive(Default)]
pub struct State {
    pub cells: Vec<Cell>,
    /// Cells whose domain has changed.
    pub queue: Vec<u32>,
    /// Choices made, the latest last.
    pub branches: Vec<Branch>,
    /// Values before changes: cell and field, value.
    trail: Vec<(u32, u32)>,
    /// Whether changes are put on the trail.
    pub logging: bool,
}

const DOMAIN: u32 = 0;
const MATE: u32 = 1;
const OWNER: u32 = 2;

impl State {
    /// Empties everything.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.queue.clear();
        self.trail.clear();
        self.branches.clear();
        self.logging = false;
    }

    #[inline(always)]
    fn log(&mut self, cell: usize, field: u32, value: u32) {
        if self.logging {
            self.trail.push(((cell as u32) << 2 | field, value));
        }
    }

    #[inline(always)]
    pub fn log_domain(&mut self, cell: usize, value: Domain) {
        self.log(cell, DOMAIN, value);
    }

    #[inline(always)]
    pub fn set_mate(&mut self, cell: usize, mate: u32) {
        self.log(cell, MATE, self.cells[cell].mate);
        self.cells[cell].mate = mate;
    }

    #[inline(always)]
    pub fn set_owner(&mut self, cell: usize, owner: Owner) {
        self.log(cell, OWNER, self.cells[cell].owner);
        self.cells[cell].owner = owner;
    }

    /// A place on the trail to go back to.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Goes back to a mark, at which no cell was waiting in the queue.
    pub fn undo<S: Shapes>(&mut self, mark: usize) {
        // Cells in the queue have changed since the mark, all of them: what is known of them is set below.
        self.queue.clear();
        while self.trail.len() > mark {
            let Some((place, value)) = self.trail.pop() else {
                return;
            };
            let cell = &mut self.cells[place as usize >> 2];
            match place & 3 {
                DOMAIN => {
                    cell.domain = value;
                    cell.known = S::facts(value);
                }
                MATE => cell.mate = value,
                _ => cell.owner = value,
            }
        }
    }
}
