//! The expressions of jq in the config of a plugin: the texts whose JSON Schema has the format `jq`.

use serde_json::Value;

use super::Expressions;
use super::error::Findings;
use super::json::Place;
use super::problem::Problem;

/// The format of an expression.
const FORMAT: &str = "jq";

/// Reports the expressions in a value that can't be used, each at its place. References of the schema are not followed.
pub(super) fn check(
    schema: &Value,
    value: &Value,
    place: &Place<'_, '_>,
    expressions: &dyn Expressions,
    findings: &mut Findings,
) {
    match value {
        Value::String(text) if schema["format"] == FORMAT => {
            if let Err(reason) = expressions.check(text) {
                let hint = plain_text(text);
                findings.report(&place.span, Problem::BadExpression { reason, hint });
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let own = schema.get("properties").and_then(|it| it.get(key));
                let Some(schema) = own.or_else(|| schema.get("additionalProperties")) else {
                    continue;
                };
                let place = place.clone().step(key);
                check(schema, member, &place, expressions, findings);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let place = place.clone().step(&index.to_string());
                check(&schema["items"], item, &place, expressions, findings);
            }
        }
        _ => {}
    }
}

/// What to write for a text that looks like none of jq: a URL or a word.
fn plain_text(text: &str) -> Option<String> {
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let is_name =
        text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(is_word);
    let is_url = ["http://", "https://"]
        .iter()
        .any(|it| text.starts_with(it));
    match text.contains(['"', '\'', '\n']) {
        false if is_url => Some(format!(
            "this is an expression of jq: a fixed text is in quotes: '\"{text}\"'"
        )),
        false if is_name => Some(format!(
            "this is an expression of jq: '.{text}' is the field of that name, and '\"{text}\"' the text"
        )),
        _ => None,
    }
}
