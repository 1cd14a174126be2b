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
            if is_too_short(schema, text) {
                return;
            }
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

/// Whether a text has too few characters for its schema, as an empty one most often: that is reported with the other
/// errors of the schema.
fn is_too_short(schema: &Value, text: &str) -> bool {
    let least = schema.get("minLength").and_then(Value::as_u64);
    least.is_some_and(|least| (text.chars().count() as u64) < least)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::plugins;
    use super::super::{NoFiles, Surroundings, read_tested};
    use super::*;
    use crate::manifest::Manifest;

    /// No text is an expression.
    struct AllWrong;

    impl Expressions for AllWrong {
        fn check(&self, _: &str) -> Result<(), String> {
            Err("there is no filter".to_owned())
        }
    }

    /// The errors of a config of a plugin with a key `jq` of at least one character, and a key `any` of any length.
    fn errors(config: &str) -> Vec<String> {
        let manifest = json!({
            "name": "jq-source", "role": "stage", "doc": "", "effects": [], "inputs": [],
            "outputs": [{ "name": "out", "schema": "*" }],
            "config": {
                "type": "object",
                "properties": {
                    "jq": { "type": "string", "minLength": 1, "format": "jq" },
                    "any": { "type": "string", "format": "jq" },
                },
            },
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let plugins = plugins().with(manifest);
        let text = format!("[stages.a]\nplugin = \"jq-source\"\nconfig = {config}\n");
        let given = Surroundings {
            plugins: &plugins,
            settings: &[],
            files: &NoFiles,
            tests: Some(&AllWrong),
        };
        let read = read_tested("x.toml", text.as_bytes(), given);
        let errors = read.err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_wrong_expression_is_one_error() {
        let [empty] = &errors("{ jq = '' }")[..] else {
            panic!("{:?}", errors("{ jq = '' }"));
        };
        let words = "x.toml:3:17: `jq` must have at least 1 character, not an empty string";
        assert_eq!(empty, words);
        for config in ["{ jq = '.a' }", "{ any = '' }"] {
            let errors = errors(config);
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(errors[0].contains("there is no filter"), "{errors:?}");
        }
    }
}
