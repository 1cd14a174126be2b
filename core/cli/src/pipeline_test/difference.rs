//! Where a value differs from what is expected.

use serde_json::{Map, Number, Value};

/// The most levels that are compared: messages have no more.
const DEEPEST: usize = 128;

/// How much of a value is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Objects may have other keys.
    Part,
}

/// The first difference between two values.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueDifference {
    /// The path of the value, as jq has it.
    pub path: String,
    /// What is expected there. `None`: nothing.
    pub expected: Option<Value>,
    /// What is there. `None`: nothing.
    pub found: Option<Value>,
}

/// The first difference, in the order of what is expected. `None`: there is none.
pub fn first(expected: &Value, found: &Value, extent: Extent) -> Option<ValueDifference> {
    let mut path = Vec::new();
    let (expected, found) = differing(expected, found, extent, &mut path)?;
    Some(ValueDifference {
        path: written(&path),
        expected,
        found,
    })
}

/// A step into a value.
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

type Sides = (Option<Value>, Option<Value>);

fn differing<'a>(
    expected: &'a Value,
    found: &'a Value,
    extent: Extent,
    path: &mut Vec<PathStep<'a>>,
) -> Option<Sides> {
    let differ = || Some((Some(expected.clone()), Some(found.clone())));
    if path.len() > DEEPEST {
        return differ();
    }
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => objects(expected, found, extent, path),
        (Value::Array(expected), Value::Array(found)) => {
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                path.push(PathStep::Index(index));
                let difference = differing(expected, found, extent, path);
                if difference.is_some() {
                    return difference;
                }
                path.pop();
            }
            let common = expected.len().min(found.len());
            if expected.len() == found.len() {
                return None;
            }
            path.push(PathStep::Index(common));
            Some((expected.get(common).cloned(), found.get(common).cloned()))
        }
        (Value::Number(one), Value::Number(other)) => {
            if are_equal(one, other) {
                None
            } else {
                differ()
            }
        }
        (expected, found) if expected == found => None,
        _ => differ(),
    }
}

/// Whether two numbers have the same value, however they are written. Integers are compared exactly: a float does not have
/// all of their digits.
fn are_equal(one: &Number, other: &Number) -> bool {
    let integer = |it: &Number| {
        let unsigned = it.as_u64().map(i128::from);
        unsigned.or_else(|| it.as_i64().map(i128::from))
    };
    // A cast that saturates is beyond all integers of JSON.
    let is_float = |it: i128, float: f64| float.fract() == 0.0 && float as i128 == it;
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one == other,
        (Some(integer), None) => other.as_f64().is_some_and(|it| is_float(integer, it)),
        (None, Some(integer)) => one.as_f64().is_some_and(|it| is_float(integer, it)),
        (None, None) => one.as_f64() == other.as_f64(),
    }
}

fn objects<'a>(
    expected: &'a Map<String, Value>,
    found: &'a Map<String, Value>,
    extent: Extent,
    path: &mut Vec<PathStep<'a>>,
) -> Option<Sides> {
    for (key, value) in expected {
        path.push(PathStep::Key(key));
        let difference = match found.get(key) {
            Some(found) => differing(value, found, extent, path),
            None => Some((Some(value.clone()), None)),
        };
        if difference.is_some() {
            return difference;
        }
        path.pop();
    }
    if extent == Extent::Part {
        return None;
    }
    let (key, value) = found.iter().find(|(key, _)| !expected.contains_key(*key))?;
    path.push(PathStep::Key(key));
    Some((None, Some(value.clone())))
}

/// A path as jq has it.
fn written(path: &[PathStep<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PathStep::Index(index) => text += &format!("[{index}]"),
            PathStep::Key(key) => {
                let mut letters = key.chars();
                let is_start = |it: char| it.is_ascii_alphabetic() || it == '_';
                let is_plain = letters.next().is_some_and(is_start)
                    && letters.all(|it| it.is_ascii_alphanumeric() || it == '_');
                text += &match is_plain {
                    true => format!(".{key}"),
                    false => format!(".{}", Value::from(*key)),
                };
            }
        }
    }
    if !text.starts_with('.') {
        text.insert(0, '.');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let found = json!({ "a": [1, { "b c": 2.0 }], "d": null, "e": 3 });
        for (expected, extent, path, sides) in [
            (
                json!({ "a": [1] }),
                Extent::Part,
                ".a[1]",
                (None, Some(json!({ "b c": 2.0 }))),
            ),
            (
                json!({ "a": [1, { "b c": 3 }] }),
                Extent::Part,
                ".a[1].\"b c\"",
                (Some(json!(3)), Some(json!(2.0))),
            ),
            (
                json!({ "d": 0 }),
                Extent::Part,
                ".d",
                (Some(json!(0)), Some(json!(null))),
            ),
            (
                json!({ "f": null }),
                Extent::Part,
                ".f",
                (Some(json!(null)), None),
            ),
            (
                json!({ "a": [1.0, { "b c": 2 }], "d": null }),
                Extent::Whole,
                ".e",
                (None, Some(json!(3))),
            ),
            (
                json!([1]),
                Extent::Whole,
                ".",
                (Some(json!([1])), Some(found.clone())),
            ),
        ] {
            let difference = first(&expected, &found, extent).unwrap();
            assert_eq!(difference.path, path, "{expected}");
            assert_eq!((difference.expected, difference.found), sides, "{expected}");
        }
        let same = json!({ "e": 3.0, "a": [1.0, { "b c": 2 }], "d": null });
        assert_eq!(first(&same, &found, Extent::Whole), None);
        assert_eq!(first(&json!({ "e": 3 }), &found, Extent::Part), None);
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let (one, other) = (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64),
        );
        assert!(first(&one, &other, Extent::Whole).is_some());
        let as_float = json!(9_007_199_254_740_992.0);
        assert!(first(&as_float, &one, Extent::Whole).is_some());
        assert!(first(&one, &as_float, Extent::Whole).is_some());
        assert_eq!(first(&as_float, &other, Extent::Whole), None);
        assert!(
            first(
                &json!(u64::MAX),
                &json!(1.844_674_407_370_955_2e19),
                Extent::Whole
            )
            .is_some()
        );
        assert!(first(&json!(1.5), &json!(1), Extent::Whole).is_some());
        assert_eq!(first(&json!(1), &json!(1.0), Extent::Whole), None);
        assert_eq!(first(&json!(-1.0), &json!(-1), Extent::Whole), None);
    }
}
