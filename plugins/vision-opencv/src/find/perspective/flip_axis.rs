//! The axis that a board flips about.

/// The line that a board turns about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipAxis {
    /// From top to bottom: its vertical lines stay vertical.
    Vertical,
    /// From left to right: its horizontal lines stay horizontal.
    Horizontal,
}

impl FlipAxis {
    /// Both, in the order tried.
    pub const ALL: [Self; 2] = [Self::Vertical, Self::Horizontal];
}
