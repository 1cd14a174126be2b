//! How much of a cell the corridor uses.

use std::fmt;

use thiserror::Error;

/// The share of a cell's side that the corridor uses, an exact fraction between 0 and 1. A pointer that
/// stays within it is at least `(1 - inner) / 2` of a cell away from other cells.
///
/// Between 2/3 and a little more there is a step: a half-width of exactly 1/3 just admits staircases
/// of two cells to the right and one up, with no play. Where a game bears it, 0.68 has that play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inner {
    numerator: u16,
    denominator: u16,
}

/// Why a number is no [`Inner`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum InnerError {
    /// Not between 0 and 1, both excluded.
    #[error("the share of a cell must be more than 0 and less than 1, not {0}")]
    OutOfRange(f64),
    /// A fraction in steps that are too fine.
    #[error(
        "the share of a cell must have a denominator of at most {}, not {denominator}",
        Inner::FINEST
    )]
    TooFine {
        /// The denominator, reduced.
        denominator: i64,
    },
}

impl Inner {
    /// The largest denominator.
    pub const FINEST: u16 = 1000;

    /// A fraction. It is reduced.
    ///
    /// # Errors
    /// See [`InnerError`].
    pub fn new(numerator: u32, denominator: u32) -> Result<Self, InnerError> {
        if numerator == 0 || numerator >= denominator {
            let share = f64::from(numerator) / f64::from(denominator);
            return Err(InnerError::OutOfRange(share));
        }
        let divisor = common_divisor(numerator.into(), denominator.into());
        let reduced = |value: u32| i64::from(value) / divisor;
        let narrow = |value: u32| u16::try_from(reduced(value));
        match (narrow(numerator), narrow(denominator)) {
            (Ok(numerator), Ok(denominator)) if denominator <= Self::FINEST => Ok(Self {
                numerator,
                denominator,
            }),
            _ => Err(InnerError::TooFine {
                denominator: reduced(denominator),
            }),
        }
    }

    /// The share as a number.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Numerator and denominator.
    #[must_use]
    pub fn fraction(self) -> [i64; 2] {
        [self.numerator.into(), self.denominator.into()]
    }
}

impl Default for Inner {
    /// 2/3.
    fn default() -> Self {
        Self {
            numerator: 2,
            denominator: 3,
        }
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.numerator, self.denominator)
    }
}

/// The fraction nearest to a number, of those with a denominator of at most [`Inner::FINEST`]; of
/// several the one with the smallest denominator.
impl TryFrom<f64> for Inner {
    type Error = InnerError;

    fn try_from(share: f64) -> Result<Self, InnerError> {
        if !(share > 0.0 && share < 1.0) {
            return Err(InnerError::OutOfRange(share));
        }
        let nearest = |denominator: u16| {
            let most = f64::from(denominator - 1);
            let numerator = (share * f64::from(denominator)).round().clamp(1.0, most);
            let away = (numerator / f64::from(denominator) - share).abs();
            (numerator as u16, denominator, away)
        };
        let mut best = nearest(2);
        for found in (3..=Self::FINEST).map(nearest) {
            if found.2 < best.2 {
                best = found;
            }
        }
        Ok(Self {
            numerator: best.0,
            denominator: best.1,
        })
    }
}

/// The greatest common divisor of two positive numbers.
pub(super) fn common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_nearest_small_fraction() {
        let shown = |share: f64| Inner::try_from(share).expect("a share").to_string();
        assert_eq!(shown(2.0 / 3.0), "2/3");
        assert_eq!(shown(0.6667), "2/3");
        assert_eq!(shown(0.68), "17/25");
        assert_eq!(shown(0.9), "9/10");
        assert_eq!(shown(0.5), "1/2");
        assert_eq!(shown(1e-9), "1/1000");
        assert_eq!(shown(0.999_999), "999/1000");
        assert_eq!(Inner::new(200, 300), Ok(Inner::default()));
        assert_eq!(Inner::default().share(), 2.0 / 3.0);
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for share in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            assert!(Inner::try_from(share).is_err(), "{share}");
        }
        for (numerator, denominator) in [(0, 3), (3, 3), (4, 3), (0, 0)] {
            assert!(Inner::new(numerator, denominator).is_err());
        }
        assert_eq!(
            Inner::new(1, 1001),
            Err(InnerError::TooFine { denominator: 1001 })
        );
    }
}
