//! The board: which cells exist and which of them touch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::graph::Graph;

/// A cell's index, `row * cols + col`, rows from the top, columns from the left, both from 0.
pub type Cell = usize;

/// How cells touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lattice {
    /// Four neighbours: north, east, south, west.
    #[default]
    Square,
    /// Six neighbours, flat-topped columns: cell (x, y) touches (x, y±1), (x±1, y), and
    /// (x±1, y+1) for even x, (x±1, y−1) for odd x.
    Hex,
}

/// The cells of a puzzle and which of them touch.
///
/// Equality and JSON are those of its [`Description`]; the [`Graph`] is derived from it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Description", into = "Description")]
#[schemars(with = "Description")]
pub struct Board {
    description: Description,
    graph: Graph,
}

/// What a board is made of, as it is written in messages and files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a board, such as {\"rows\":5,\"cols\":5}"
)]
pub struct Description {
    /// Rows of the bounding grid.
    pub rows: usize,
    /// Columns of the bounding grid.
    pub cols: usize,
    /// How cells touch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lattice: Lattice,
    /// Edges wrap around, left to right and top to bottom (Flow Free: Warps). Walls close them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub warps: bool,
    /// Cells that do not exist, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<Cell>,
    /// Cells that two flows cross straight, one in each direction, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<Cell>,
    /// Pairs of touching cells with no passage between them, each ascending, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<(Cell, Cell)>,
}

/// Why a board can't be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BoardError {
    /// No cells.
    #[error("a board needs at least one row and one column, this one has {rows} by {cols}")]
    Empty {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// More cells than [`Board::MAX_CELLS`].
    #[error(
        "a board of {rows} by {cols} is too large: at most {} cells",
        Board::MAX_CELLS
    )]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// A hole, bridge or wall at a cell that isn't there.
    #[error("{what} at cell {cell}, but the board has cells 0 to {last}")]
    OutOfRange {
        /// Hole, bridge or wall.
        what: &'static str,
        /// The cell named.
        cell: Cell,
        /// The last cell there is.
        last: Cell,
    },
    /// Hexes can wrap around only where even columns meet odd ones.
    #[error(
        "hexes warp only with an even number of columns and at least 3 rows, this board has {rows} by {cols}"
    )]
    HexWarps {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
    },
    /// A wall between cells that do not touch.
    #[error("a wall between cells {a} and {b}, which do not touch")]
    WallApart {
        /// One cell.
        a: Cell,
        /// The other.
        b: Cell,
    },
    /// A cell that is a hole and a bridge.
    #[error("cell {0} is both a hole and a bridge")]
    BridgeInHole(Cell),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Board {
    /// The most cells that a board may have: room for 300 by 300 and some.
    pub const MAX_CELLS: usize = 1 << 17;

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
        let graph = Graph::new(&description)?;
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

impl From<Board> for Description {
    fn from(board: Board) -> Self {
        board.description
    }
}

#[cfg(test)]
mod tests;
