//! Variables and literals: what clauses are made of.

use std::ops::Not;

/// A variable that is to be true, or one that is to be false. Variables count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(u32);

impl Literal {
    /// The variable, true or false.
    #[must_use]
    pub const fn new(variable: u32, positive: bool) -> Self {
        Self(variable << 1 | !positive as u32)
    }

    /// The number of the variable.
    #[must_use]
    pub const fn variable(self) -> u32 {
        self.0 >> 1
    }

    /// Whether the variable is to be true.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

impl Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}
