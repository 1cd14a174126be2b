//! What a board is made of, and what can be wrong with that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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
    /// More cells than `Board::MAX_CELLS`.
    #[error(
        "a board of {rows} by {cols} is too large: at most {} cells",
        Description::MAX_CELLS
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

impl Description {
    /// The most cells that a board may have: room for 300 by 300 and some.
    pub(crate) const MAX_CELLS: usize = 1 << 17;

    /// Squares in rows and columns, without holes, bridges, walls and warps. The fields set these.
    #[must_use]
    pub fn grid(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            ..Self::default()
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
