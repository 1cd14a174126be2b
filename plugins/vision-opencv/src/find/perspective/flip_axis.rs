//! The axis that a board flips over about.

/// The line that a board turns about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From top to bottom: its vertical lines stay vertical.
    Vertical,
    /// From left to right: its horizontal lines stay horizontal.
    Horizontal,
}

impl Axis {
    /// Both, in the order tried.
    pub const ALL: [Self; 2] = [Self::Vertical, Self::Horizontal];
}
