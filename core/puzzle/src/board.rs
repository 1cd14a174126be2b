//! The board: which cells exist and which of them touch.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use crate::description::{BoardError, Cell, Description, Lattice};
use crate::graph::Graph;

/// The cells of a puzzle and which of them touch.
///
/// Equality and JSON are those of its [`Description`]; the [`Graph`] is derived from it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Description")]
#[schemars(with = "Description")]
pub struct Board {
    description: Description,
    /// Shared by copies of the board.
    graph: Arc<Graph>,
}

impl Board {
    /// The most cells that a board may have: room for 300 by 300 and some.
    pub const MAX_CELLS: usize = Description::MAX_CELLS;

    /// A rectangle in which every cell exists.
    ///
    /// # Errors
    /// [`BoardError::Empty`] and [`BoardError::TooLarge`].
    pub fn rectangle(rows: usize, cols: usize) -> Result<Self, BoardError> {
        Self::new(Description {
            rows,
            cols,
            ..Description::default()
        })
    }

    /// Any board. Lists may come unsorted and with repeats; they are kept sorted and without.
    ///
    /// # Errors
    /// See [`BoardError`].
    pub fn new(mut description: Description) -> Result<Self, BoardError> {
        let Description { rows, cols, .. } = description;
        if rows == 0 || cols == 0 {
            return Err(BoardError::Empty { rows, cols });
        }
        if rows
            .checked_mul(cols)
            .is_none_or(|cells| cells > Self::MAX_CELLS)
        {
            return Err(BoardError::TooLarge { rows, cols });
        }
        let hex_warps = description.warps && description.lattice == Lattice::Hex;
        if hex_warps && (cols % 2 != 0 || rows < 3) {
            return Err(BoardError::HexWarps { rows, cols });
        }
        let last = rows * cols - 1;
        let check = |what: &'static str, cell: Cell| {
            if cell > last {
                Err(BoardError::OutOfRange { what, cell, last })
            } else {
                Ok(())
            }
        };
        for &cell in &description.holes {
            check("a hole", cell)?;
        }
        for &cell in &description.bridges {
            check("a bridge", cell)?;
        }
        for wall in &mut description.walls {
            check("a wall", wall.0)?;
            check("a wall", wall.1)?;
            *wall = (wall.0.min(wall.1), wall.0.max(wall.1));
        }
        description.holes.sort_unstable();
        description.holes.dedup();
        description.bridges.sort_unstable();
        description.bridges.dedup();
        description.walls.sort_unstable();
        description.walls.dedup();
        if let Some(&cell) = description
            .bridges
            .iter()
            .find(|cell| description.holes.binary_search(cell).is_ok())
        {
            return Err(BoardError::BridgeInHole(cell));
        }
        let graph = Graph::of(&description)?;
        Ok(Self { description, graph })
    }

    /// What the board is made of.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Rows of the bounding grid.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.description.rows
    }

    /// Columns of the bounding grid.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.description.cols
    }

    /// Indices of the bounding grid, holes included: `rows * cols`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows() * self.cols()
    }

    /// Never: a board has at least one cell of its bounding grid.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the cell is on the board: within the bounding grid and no hole.
    #[must_use]
    pub fn exists(&self, cell: Cell) -> bool {
        cell < self.len() && !self.graph.nodes_of(cell).is_empty()
    }

    /// Whether two flows cross there.
    #[must_use]
    pub fn is_bridge(&self, cell: Cell) -> bool {
        self.description.bridges.binary_search(&cell).is_ok()
    }

    /// The cells that exist, ascending.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        (0..self.len()).filter(|&cell| self.exists(cell))
    }

    /// Row and column, both from 0.
    #[must_use]
    pub fn row_col(&self, cell: Cell) -> (usize, usize) {
        (cell / self.cols(), cell % self.cols())
    }

    /// The cell at a row and column, if it exists.
    #[must_use]
    pub fn cell(&self, row: usize, col: usize) -> Option<Cell> {
        let cell = row.checked_mul(self.cols())?.checked_add(col)?;
        (row < self.rows() && col < self.cols() && self.exists(cell)).then_some(cell)
    }

    /// The board as nodes and links.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Whether there is a passage between two cells.
    #[must_use]
    pub fn touch(&self, a: Cell, b: Cell) -> bool {
        a < self.len()
            && self.graph.nodes_of(a).iter().any(|&node| {
                self.graph
                    .links(node)
                    .iter()
                    .any(|link| self.graph.cell_of(link.node) == b)
            })
    }

    /// Whether the board is a plain rectangle: square lattice, no holes, walls, bridges or warps.
    #[must_use]
    pub fn is_plain_rectangle(&self) -> bool {
        self.description
            == Description {
                rows: self.rows(),
                cols: self.cols(),
                ..Description::default()
            }
    }
}

impl PartialEq for Board {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Eq for Board {}

impl TryFrom<Description> for Board {
    type Error = BoardError;

    fn try_from(description: Description) -> Result<Self, BoardError> {
        Self::new(description)
    }
}

impl Serialize for Board {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.description.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
