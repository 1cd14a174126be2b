//! What a board can have besides plain squares.

use std::fmt;

/// A feature of Flow Free's boards. A recipe may name several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Cells that two flows cross straight.
    Bridges,
    /// Six-sided cells.
    Hexes,
    /// Edges that wrap around, except for those that walls close.
    Warps,
    /// Walls between cells.
    Walls,
    /// Cells that are missing.
    Holes,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Bridges,
        Self::Hexes,
        Self::Warps,
        Self::Walls,
        Self::Holes,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Bridges => "bridges",
            Self::Hexes => "hexes",
            Self::Warps => "warps",
            Self::Walls => "walls",
            Self::Holes => "holes",
        })
    }
}
