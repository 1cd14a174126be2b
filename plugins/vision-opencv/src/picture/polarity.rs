//! The polarity of lines: brighter or darker than their surroundings.

/// Whether lines are brighter or darker than what they lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polarity {
    /// Brighter.
    #[default]
    Bright,
    /// Darker.
    Dark,
}
