//! Numbers of the command line.

use std::str::FromStr;

/// A number from 1.
///
/// # Errors
/// When the text is none.
pub fn from_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "expected a number from 1".to_owned())
}
