//! Durations as pipeline files write them: `250ms`, `2s`, `1m30s`.

use std::time::Duration;

use thiserror::Error;

/// The longest duration that a pipeline file may give.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The same rule as a regular expression, for the JSON Schema. It admits the empty text, and zero.
pub const PATTERN: &str = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$";

/// The units from long to short, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Why a text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// A number is missing.
    #[error("a number is missing")]
    NoNumber,
    /// A number without a unit.
    #[error("the unit is missing")]
    NoUnit,
    /// Neither h, m, s nor ms.
    #[error("that is no unit of time")]
    UnknownUnit,
    /// `1s1m`, or a unit twice.
    #[error("each unit may occur once, the longer ones first")]
    Order,
    /// Zero.
    #[error("it must be longer than zero")]
    Zero,
    /// Longer than [`LONGEST`].
    #[error("it must not be longer than 24h")]
    TooLong,
}

/// Reads whole numbers with units, the longer units first.
///
/// # Errors
/// Anything else, zero, and what is longer than [`LONGEST`].
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let mut rest = text;
    let mut units = UNITS.iter();
    let mut milliseconds: u64 = 0;
    loop {
        let number = take_while(&mut rest, |c| c.is_ascii_digit());
        let unit = take_while(&mut rest, |c| !c.is_ascii_digit());
        if number.is_empty() {
            return Err(DurationError::NoNumber);
        }
        if unit.is_empty() {
            return Err(DurationError::NoUnit);
        }
        if !UNITS.iter().any(|&(name, _)| name == unit) {
            return Err(DurationError::UnknownUnit);
        }
        let Some((_, factor)) = units.find(|(name, _)| *name == unit) else {
            return Err(DurationError::Order);
        };
        milliseconds = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(*factor))
            .and_then(|part| milliseconds.checked_add(part))
            .ok_or(DurationError::TooLong)?;
        if rest.is_empty() {
            break;
        }
    }
    match Duration::from_millis(milliseconds) {
        Duration::ZERO => Err(DurationError::Zero),
        duration if duration > LONGEST => Err(DurationError::TooLong),
        duration => Ok(duration),
    }
}

/// Writes whole milliseconds as [`parse`] reads them.
#[must_use]
pub fn written(duration: Duration) -> String {
    let mut rest = duration.as_millis();
    let mut text = String::new();
    for (unit, factor) in UNITS {
        let number = rest / u128::from(factor);
        rest %= u128::from(factor);
        if number > 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    text
}

fn take_while<'a>(rest: &mut &'a str, keep: impl Fn(char) -> bool) -> &'a str {
    let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
    let (taken, left) = rest.split_at(end);
    *rest = left;
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<u64, DurationError>) {
        assert_eq!(parse(text), expected.map(Duration::from_millis), "{text:?}");
    }

    #[test]
    fn reads_numbers_with_units() {
        check("250ms", Ok(250));
        check("2s", Ok(2_000));
        check("1m", Ok(60_000));
        check("1m30s", Ok(90_000));
        check("1h2m3s4ms", Ok(3_723_004));
        check("24h", Ok(86_400_000));
        check("", Err(DurationError::NoNumber));
        check("s", Err(DurationError::NoNumber));
        check("-1s", Err(DurationError::NoNumber));
        check("2", Err(DurationError::NoUnit));
        check("1m30", Err(DurationError::NoUnit));
        check("2sec", Err(DurationError::UnknownUnit));
        check("2 s", Err(DurationError::UnknownUnit));
        check("1.5s", Err(DurationError::UnknownUnit));
        check("1s1m", Err(DurationError::Order));
        check("1s1s", Err(DurationError::Order));
        check("0s", Err(DurationError::Zero));
        check("25h", Err(DurationError::TooLong));
        check("99999999999999999999h", Err(DurationError::TooLong));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(h in 0u64..24, m in 0u64..60, s in 0u64..60, ms in 1u64..1000) {
            let expected = Duration::from_millis(((h * 60 + m) * 60 + s) * 1000 + ms);
            prop_assert_eq!(parse(&format!("{h}h{m}m{s}s{ms}ms")), Ok(expected));
            prop_assert_eq!(parse(&written(expected)), Ok(expected));
        }

        #[test]
        fn no_text_panics(text in "\\PC*|[0-9hms]*") {
            let _ = parse(&text);
        }
    }
}
