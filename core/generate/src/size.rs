//! How large a board is.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// Columns and rows of a board that is to be made. As text `9` or `15x18`, columns before rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    cols: usize,
    rows: usize,
}

/// Why there is no such size.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SizeError {
    /// Not a number, nor two with an `x` between.
    #[error("a size is columns x rows, such as 9x9 or 15x18, or one number for a square")]
    Form,
    /// Too small or too large.
    #[error("each side must be from {} to {}", .0.start(), .0.end())]
    Range(RangeInclusive<usize>),
}

impl Size {
    /// How many cells a side may have.
    pub const SIDES: RangeInclusive<usize> = 3..=60;

    /// A size in cells.
    ///
    /// # Errors
    /// [`SizeError::Range`].
    pub fn new(cols: usize, rows: usize) -> Result<Self, SizeError> {
        Self::within(cols, rows, Self::SIDES)
    }

    /// A size in cells whose sides keep within a range of one's own.
    ///
    /// # Errors
    /// [`SizeError::Range`].
    pub fn within(
        cols: usize,
        rows: usize,
        sides: RangeInclusive<usize>,
    ) -> Result<Self, SizeError> {
        if sides.contains(&cols) && sides.contains(&rows) {
            Ok(Self { cols, rows })
        } else {
            Err(SizeError::Range(sides))
        }
    }

    /// Reads a size whose sides keep within a range of one's own.
    ///
    /// # Errors
    /// See [`SizeError`].
    pub fn parse(text: &str, sides: RangeInclusive<usize>) -> Result<Self, SizeError> {
        let number = |text: &str| text.trim().parse().map_err(|_| SizeError::Form);
        match text.split_once('x') {
            Some((cols, rows)) => Self::within(number(cols)?, number(rows)?, sides),
            None => number(text).and_then(|side| Self::within(side, side, sides)),
        }
    }

    /// How many columns.
    #[must_use]
    pub fn cols(self) -> usize {
        self.cols
    }

    /// How many rows.
    #[must_use]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// How many cells.
    #[must_use]
    pub fn cells(self) -> usize {
        self.cols * self.rows
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        Self::parse(text, Self::SIDES)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}x{}", self.cols, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!("7".parse(), Size::new(7, 7));
        assert_eq!("15x18".parse(), Size::new(15, 18));
        for text in ["", "x", "5x", "5x5x5", "-5", "five"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Form), "{text}");
        }
        for text in ["2", "61x5", "5x0", "9999999999"] {
            assert_eq!(
                text.parse::<Size>(),
                Err(SizeError::Range(Size::SIDES)),
                "{text}"
            );
        }
        assert_eq!(
            Size::new(15, 18).expect("a size").to_string(),
            "15x18",
            "it is written as it is read"
        );
    }
}
