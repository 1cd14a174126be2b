//! Rules of a config's schema that concern several keys.
//!
//! - `dependentSchemas`: what a key needs, and what can't be set beside it.
//! - `if` and `then`: what a value of a key needs. A `description` of the `then` is the reason.
//! - `oneOf` and `anyOf` of schemas that only require keys: how many of these keys are to be set.

use jsonschema::ValidationError;
use jsonschema::paths::Location;
use serde_json::Value;

use super::{describe, segments};

/// Why a rule applies: the keys that are set, of the table in which the rule is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    /// How a message names it: `step_ms` or `by = "time"`.
    pub text: String,
    /// The key.
    pub key: String,
}

/// The condition of an error: the innermost one with a key. `None`: there is none.
pub(super) fn condition(schema: &Value, error: &ValidationError<'_>) -> Option<Condition> {
    let keywords = segments(error.schema_path());
    let mut found = None;
    let mut around = schema;
    for (index, keyword) in keywords.iter().enumerate() {
        match keyword.as_str() {
            "dependentSchemas" => {
                let key = keywords.get(index + 1)?.clone();
                let text = key.clone();
                found = Some(Condition { text, key });
            }
            "then" => found = of_value(around.get("if")).or(found),
            _ => {}
        }
        around = child(around, keyword)?;
    }
    found
}

/// The reason that a `then` around the error gives.
pub(super) fn reason<'s>(schema: &'s Value, error: &ValidationError<'_>) -> Option<&'s str> {
    let mut reason = None;
    let mut around = schema;
    for keyword in segments(error.schema_path()) {
        around = child(around, &keyword)?;
        if keyword == "then" {
            reason = around.get("description").and_then(Value::as_str);
        }
    }
    reason
}

/// The keys of which a rule at this place wants one: each alternative requires one key and nothing else.
pub(super) fn alternative_keys<'s>(schema: &'s Value, keyword: &Location) -> Option<Vec<&'s str>> {
    let alternatives = schema.pointer(keyword.as_str())?.as_array()?;
    let key = |alternative: &'s Value| {
        let alternative = alternative.as_object()?;
        match alternative.get("required")?.as_array()?.as_slice() {
            [key] if alternative.len() == 1 => key.as_str(),
            _ => None,
        }
    };
    alternatives.iter().map(key).collect()
}

/// Keys for a message: `a`, `b` and `c`.
pub(super) fn listed(keys: &[String]) -> String {
    match keys {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The condition of an `if` that wants a value of one key.
fn of_value(schema: Option<&Value>) -> Option<Condition> {
    let properties = schema?.get("properties")?.as_object()?;
    let mut constants = properties.iter().filter_map(|(key, value)| {
        let value = value.get("const")?;
        Some(Condition {
            text: format!("{key} = {}", describe(value)),
            key: key.clone(),
        })
    });
    constants.next()
}

fn child<'s>(schema: &'s Value, keyword: &str) -> Option<&'s Value> {
    match schema {
        Value::Array(schemas) => schemas.get(keyword.parse::<usize>().ok()?),
        schema => schema.get(keyword),
    }
}
