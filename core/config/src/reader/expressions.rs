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
                findings.report(&place.span, Problem::BadExpression { reason });
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
