//! Where two JSON values differ first.

use std::collections::BTreeSet;

use flowpipe_message::GESTURE_OUTCOME;
use serde::Serialize;
use serde_json::Value;

/// Fields that differ from run to run: the schema, and the key of the object.
const MEASURED: [(&str, &str); 1] = [(GESTURE_OUTCOME, "act_ns")];

/// The most bytes of a value's JSON that are kept.
const LONGEST: usize = 1_000;

/// The first field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JsonDifference {
    /// Its JSON pointer: empty for the whole value.
    pub pointer: String,
    /// Its value in the first. `None`: it is not there.
    pub a: Option<DifferentValue>,
    /// Its value in the second.
    pub b: Option<DifferentValue>,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DifferentValue {
    /// All of it.
    Whole {
        /// The value.
        value: Value,
    },
    /// The start of a large one.
    Start {
        /// The start of its JSON.
        text: String,
        /// True.
        shortened: bool,
    },
}

impl DifferentValue {
    fn new(value: &Value) -> Self {
        let json = value.to_string();
        if json.len() <= LONGEST {
            return Self::Whole {
                value: value.clone(),
            };
        }
        Self::Start {
            text: shortened(&json, LONGEST),
            shortened: true,
        }
    }

    /// Its JSON, or the start of it.
    pub fn text(&self) -> String {
        match self {
            Self::Whole { value } => value.to_string(),
            Self::Start { text, .. } => text.clone(),
        }
    }
}

/// What is compared of a message's JSON: all of it but what was measured.
pub fn comparable(schema: &str, mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        for (_, key) in MEASURED.iter().filter(|(of, _)| *of == schema) {
            object.remove(*key);
        }
    }
    value
}

/// The first difference. `None`: the values are equal.
pub fn first_difference(a: &Value, b: &Value) -> Option<JsonDifference> {
    let (mut a, mut b) = (a, b);
    let mut pointer = String::new();
    // A value that was parsed is not nested deeply, but each step needs no stack anyway.
    loop {
        let (token, next) = match (a, b) {
            (Value::Object(one), Value::Object(other)) => {
                let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
                let differs = |key: &&String| one.get(*key) != other.get(*key);
                let key = keys.into_iter().find(differs)?;
                (
                    key.replace('~', "~0").replace('/', "~1"),
                    (one.get(key), other.get(key)),
                )
            }
            (Value::Array(one), Value::Array(other)) => {
                let mut places = 0..one.len().max(other.len());
                let place = places.find(|&place| one.get(place) != other.get(place))?;
                (place.to_string(), (one.get(place), other.get(place)))
            }
            (one, other) if one == other => return None,
            _ => {
                return Some(JsonDifference {
                    pointer,
                    a: Some(DifferentValue::new(a)),
                    b: Some(DifferentValue::new(b)),
                });
            }
        };
        pointer += &format!("/{token}");
        match next {
            (Some(one), Some(other)) => (a, b) = (one, other),
            (one, other) => {
                return Some(JsonDifference {
                    pointer,
                    a: one.map(DifferentValue::new),
                    b: other.map(DifferentValue::new),
                });
            }
        }
    }
}

/// At most so many characters.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(a: &Value, b: &Value) -> Option<(String, Option<String>, Option<String>)> {
        let text = |value: Option<DifferentValue>| Some(value?.text());
        first_difference(a, b).map(|it| (it.pointer, text(it.a), text(it.b)))
    }

    #[test]
    fn the_first_field_is_named() {
        for (a, b, pointer, of_a, of_b) in [
            (json!(1), json!(2), "", Some("1"), Some("2")),
            (
                json!({ "a": [1, { "b/~": true }] }),
                json!({ "a": [1, { "b/~": null }] }),
                "/a/1/b~1~0",
                Some("true"),
                Some("null"),
            ),
            (json!([1, 2, 3]), json!([1, 2]), "/2", Some("3"), None),
            (
                json!({ "b": 1, "a": "x" }),
                json!({ "b": 2 }),
                "/a",
                Some("\"x\""),
                None,
            ),
            (
                json!({ "a": {} }),
                json!({ "a": [] }),
                "/a",
                Some("{}"),
                Some("[]"),
            ),
            (
                json!({ "a": 1 }),
                json!({ "a": 1.0 }),
                "/a",
                Some("1"),
                Some("1.0"),
            ),
        ] {
            let expected = (
                pointer.to_owned(),
                of_a.map(str::to_owned),
                of_b.map(str::to_owned),
            );
            assert_eq!(found(&a, &b), Some(expected));
            assert_eq!(found(&a, &a), None);
        }
    }

    #[test]
    fn long_values_are_shortened() {
        let long = Value::from("ä".repeat(1000));
        let difference = first_difference(&long, &json!(0)).unwrap();
        let a = json!(difference.a);
        assert_eq!(a["shortened"], true);
        let text = a["text"].as_str().unwrap();
        assert_eq!(text.chars().count(), LONGEST);
        assert!(text.starts_with("\"ää") && text.ends_with("ä…"), "{a}");
        assert_eq!(json!(difference.b), json!({ "value": 0 }));
    }

    #[test]
    fn a_long_pointer_leads_to_the_values() {
        let of = |value: &str| json!({ "ä".repeat(1000): [value.repeat(300)] });
        let (a, b) = (of("a"), of("b"));
        let found = first_difference(&a, &b).unwrap();
        assert_eq!(found.pointer.chars().count(), 1003);
        let whole = |of: &Value| {
            let value = of.pointer(&found.pointer).unwrap().clone();
            Some(DifferentValue::Whole { value })
        };
        assert_eq!((whole(&a), whole(&b)), (found.a.clone(), found.b.clone()));
    }

    #[test]
    fn measured_times_are_left_out_of_outcomes_alone() {
        let outcome = json!({ "act_ns": 7, "played": 2 });
        let without = comparable(GESTURE_OUTCOME, outcome.clone());
        assert_eq!(without, json!({ "played": 2 }));
        assert_eq!(comparable("spots/1", outcome.clone()), outcome);
        assert_eq!(comparable(GESTURE_OUTCOME, json!([1])), json!([1]));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab~/]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// A difference is found exactly where values differ, and its pointer leads to what it says.
        #[test]
        fn a_pointer_leads_to_both_values(a in any_json(), b in any_json()) {
            let found = first_difference(&a, &b);
            prop_assert_eq!(found.is_none(), a == b);
            if let Some(found) = found {
                let at = |value: &Value| value.pointer(&found.pointer).map(DifferentValue::new);
                prop_assert_eq!(at(&a), found.a.clone());
                prop_assert_eq!(at(&b), found.b.clone());
                prop_assert_ne!(found.a, found.b);
            }
        }
    }
}
