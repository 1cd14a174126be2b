//! A phrase with placeholders for the values of a config.

use std::borrow::Cow;

use serde_json::Value;

/// Fills in `{key}`, and leaves out what is in square brackets where a value in it is not set.
pub(super) fn filled(doc: &str, value: impl Fn(&str) -> Option<Value>) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some(start) = rest.find('[') {
        let Some(length) = rest[start..].find(']') else {
            break;
        };
        text += &fill(&rest[..start], &value).0;
        let (part, is_whole) = fill(&rest[start + 1..start + length], &value);
        if is_whole {
            text += &part;
        }
        rest = &rest[start + length + 1..];
    }
    text + &fill(rest, &value).0
}

/// A part without brackets, and whether all its values are set.
fn fill(doc: &str, value: impl Fn(&str) -> Option<Value>) -> (String, bool) {
    let mut text = String::new();
    let mut is_whole = true;
    let mut rest = doc;
    while let Some(start) = rest.find('{') {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        text += &rest[..start];
        match value(&rest[start + 1..start + length]) {
            Some(value) if !is_empty(&value) => text += &shown(&value),
            _ => {
                text += "(not set)";
                is_whole = false;
            }
        }
        rest = &rest[start + length + 1..];
    }
    (text + rest, is_whole)
}

/// Whether a value is empty, like the default of a list.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        _ => false,
    }
}

/// A value for people; a list as a command's arguments.
fn shown(value: &Value) -> String {
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", word(value));
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(word).collect::<Vec<_>>().join(" "),
        Value::Object(values) => values.iter().map(pair).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

/// A word, in quotes if it could be read as several.
fn word(value: &Value) -> String {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        value => Cow::Owned(value.to_string()),
    };
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:=,+@%".contains(it);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
