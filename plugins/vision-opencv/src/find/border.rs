//! The four borders of a grid of squares.

/// The ways out of a grid of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Upwards.
    Upper,
    /// To the right.
    Right,
    /// Downwards.
    Lower,
    /// To the left.
    Left,
}

impl Border {
    /// All of them, by the direction that leads out.
    pub const ALL: [Self; 4] = [Self::Upper, Self::Right, Self::Lower, Self::Left];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upper => "upper",
            Self::Right => "right",
            Self::Lower => "lower",
            Self::Left => "left",
        }
    }
}
