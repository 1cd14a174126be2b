//! The criteria of a line: its polarity, contrast, width, length and gaps.

use crate::picture::polarity::Polarity;

/// What counts as a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCriteria {
    /// Brighter or darker than what is around.
    pub polarity: Polarity,
    /// The least contrast, in levels of grey.
    pub level: u8,
    /// The distance from a side to what it is compared with, in pixels.
    pub aside: usize,
    /// Shorter lines are left out, in pixels.
    pub shortest: f64,
    /// Gaps in a line are at most this share of the picture's shorter side; one sample may always lack.
    pub gaps: f64,
}

/// The longest gap in a line of a grid of squares, as a share of the picture's shorter side: a pipe is a third of
/// a cell.
pub const PIPE: f64 = 0.08;
