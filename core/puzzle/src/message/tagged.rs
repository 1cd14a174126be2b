//! Reads the messages' enums whose tag stands among their fields.
//!
//! What serde derives for such an enum first copies all its fields, since the tag may come last. That takes several times
//! as long as parsing. Here all fields of all variants are read into one struct.

use serde::de::{Deserialize, Deserializer, Error};

use super::answer::{Count, Verdict};
use super::sighting::{BoardState, Reading, SeenBoard};
use crate::geometry::Geometry;
use crate::puzzle::Puzzle;
use crate::solution::{Flow, Solution};

/// A [`Reading`] as it is written.
#[derive(serde::Deserialize)]
struct ReadingFields {
    status: Status,
    #[serde(default, deserialize_with = "present")]
    puzzle: Option<Puzzle>,
    #[serde(default, deserialize_with = "present")]
    geometry: Option<Geometry>,
    #[serde(default, deserialize_with = "present")]
    palette: Option<Vec<[u8; 3]>>,
    #[serde(default)]
    drawn: Vec<Flow>,
    state: Option<BoardState>,
    #[serde(default, deserialize_with = "present")]
    confidence: Option<f64>,
    #[serde(default)]
    numbers: bool,
    #[serde(default, deserialize_with = "present")]
    step: Option<String>,
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Board,
    Refused,
}

/// A [`Verdict`] as it is written.
#[derive(serde::Deserialize)]
struct VerdictFields {
    verdict: Kind,
    #[serde(default, deserialize_with = "present")]
    solution: Option<Solution>,
    unique: Option<bool>,
    count: Option<Count>,
    #[serde(default)]
    others: Vec<Solution>,
    reason: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Solution,
    Unsolvable,
    Unsupported,
    Unknown,
}

/// A field that may be missing, and is not null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

fn required<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

impl<'de> Deserialize<'de> for Reading {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = ReadingFields::deserialize(from)?;
        Ok(match fields.status {
            Status::Board => Self::Board(Box::new(SeenBoard {
                puzzle: required(fields.puzzle, "puzzle")?,
                geometry: required(fields.geometry, "geometry")?,
                palette: required(fields.palette, "palette")?,
                drawn: fields.drawn,
                state: required(fields.state, "state")?,
                confidence: required(fields.confidence, "confidence")?,
                numbers: fields.numbers,
            })),
            Status::Refused => Self::Refused {
                step: required(fields.step, "step")?,
                reason: required(fields.reason, "reason")?,
                confidence: fields.confidence.unwrap_or_default(),
                state: fields.state,
            },
        })
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = VerdictFields::deserialize(from)?;
        Ok(match fields.verdict {
            Kind::Solution => Self::Solution {
                solution: required(fields.solution, "solution")?,
                unique: fields.unique,
                count: fields.count,
                others: fields.others,
            },
            Kind::Unsolvable => Self::Unsolvable {
                reason: fields.reason,
            },
            Kind::Unsupported => Self::Unsupported {
                reason: required(fields.reason, "reason")?,
            },
            Kind::Unknown => Self::Unknown {
                reason: required(fields.reason, "reason")?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn board() -> Value {
        json!({
            "status": "board",
            "puzzle": { "board": { "rows": 1, "cols": 2 }, "terminals": [
                { "cell": 0, "colour": 0 }, { "cell": 1, "colour": 0 },
            ] },
            "geometry": { "corners": [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]], "rows": 1, "cols": 2 },
            "palette": [[255, 0, 0]],
            "state": "empty",
            "confidence": 1.0,
        })
    }

    #[test]
    fn a_required_field_is_neither_missing_nor_null() {
        assert!(from_value::<Reading>(board()).is_ok());
        for name in [
            "status",
            "puzzle",
            "geometry",
            "palette",
            "state",
            "confidence",
        ] {
            let mut missing = board();
            missing.as_object_mut().unwrap().remove(name);
            let error = from_value::<Reading>(missing).unwrap_err().to_string();
            assert!(
                error.contains(&format!("missing field `{name}`")),
                "{error}"
            );
            let mut null = board();
            null[name] = Value::Null;
            assert!(from_value::<Reading>(null).is_err(), "{name}");
        }
        for refused in [
            json!({ "status": "refused", "reason": "dark" }),
            json!({ "status": "refused", "step": "find board", "reason": "dark", "confidence": null }),
        ] {
            assert!(from_value::<Reading>(refused).is_err());
        }
        for verdict in ["solution", "unsupported", "unknown", "other"] {
            assert!(
                from_value::<Verdict>(json!({ "verdict": verdict })).is_err(),
                "{verdict}"
            );
        }
    }

    #[test]
    fn the_tag_may_come_last_and_unknown_fields_are_ignored() {
        let text = r#"{"reason":"dark","later":[1],"step":"find board","status":"refused"}"#;
        let read: Reading = serde_json::from_str(text).unwrap();
        assert_eq!(read, Reading::refused("find board", "dark"));
        let text = r#"{"reason":null,"later":1,"verdict":"unsolvable"}"#;
        let read: Verdict = serde_json::from_str(text).unwrap();
        assert_eq!(read, Verdict::unsolvable(None));
    }
}
