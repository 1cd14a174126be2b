//! Times as a config gives them.

use flowpipe_plugin::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time: in quotes with its unit, or a number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub struct Interval {
    nanoseconds: i64,
}

/// A time, such as `"100ms"`, `"1.5s"` or `"1m"`; a number alone is in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Milliseconds(f64),
    Text(String),
}

const UNITS: [(&str, f64); 3] = [("ms", 1e6), ("s", 1e9), ("m", 60e9)];

/// A longer time would be a mistake.
const LONGEST_NS: f64 = 3600e9;

impl Interval {
    pub const fn from_millis(milliseconds: u32) -> Self {
        Self {
            nanoseconds: milliseconds as i64 * 1_000_000,
        }
    }

    pub fn as_nanos(self) -> i64 {
        self.nanoseconds
    }
}

impl TryFrom<Written> for Interval {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let (nanoseconds, shown) = match written {
            Written::Milliseconds(number) => (Some(number * 1e6), number.to_string()),
            Written::Text(text) => (parse(&text), format!("{text:?}")),
        };
        let nanoseconds = nanoseconds.ok_or_else(|| {
            format!("{shown} is no time: write a number and its unit, such as \"100ms\", \"2s\" or \"1m\"")
        })?;
        if !(0.0..=LONGEST_NS).contains(&nanoseconds) {
            return Err(format!("{shown} is out of range: from 0 to 60 minutes"));
        }
        Ok(Self {
            nanoseconds: nanoseconds as i64,
        })
    }
}

impl From<Interval> for Written {
    fn from(interval: Interval) -> Self {
        Self::Text(format!("{}ms", interval.nanoseconds as f64 / 1e6))
    }
}

fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    digits
        .trim_end()
        .parse::<f64>()
        .ok()
        .map(|number| number * scale)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn read(value: Value) -> Result<i64, String> {
        let interval = from_value::<Interval>(value);
        interval
            .map(Interval::as_nanos)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn with_units_or_in_milliseconds() {
        for (value, nanoseconds) in [
            (json!("100ms"), 100_000_000),
            (json!("1.5 s"), 1_500_000_000),
            (json!("1m"), 60_000_000_000),
            (json!(20), 20_000_000),
            (json!(0.5), 500_000),
            (json!(0), 0),
        ] {
            assert_eq!(read(value), Ok(nanoseconds));
            let interval = Interval { nanoseconds };
            let written = serde_json::to_value(interval).unwrap();
            assert_eq!(read(written), Ok(nanoseconds));
        }
    }

    #[test]
    fn reports_what_is_no_time() {
        for (value, words) in [
            (json!("100"), "\"100\" is no time"),
            (json!("ms"), "\"ms\" is no time"),
            (json!("2 days"), "\"2 days\" is no time"),
            (json!(-1), "-1 is out of range"),
            (json!("NaNs"), "\"NaNs\" is no time"),
            (json!("61m"), "out of range"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
