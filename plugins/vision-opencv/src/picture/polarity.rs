//! Bright lines on dark ground, or dark lines on bright ground.

/// Whether lines are brighter or darker than what they lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Brighter.
    #[default]
    Bright,
    /// Darker.
    Dark,
}
