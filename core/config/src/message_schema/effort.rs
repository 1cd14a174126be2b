//! The steps that checking a message takes at most: each schema counts each time that it is applied to a value, also
//! where a check would stop before.

use serde_json::{Map, Value};

use super::patterns::{Failures, Patterns};
use super::references::{Applies, References, applies, schemas};

/// The steps that every message may take.
const STEPS: u64 = 1_000_000;
/// The further steps for each byte of the message.
const STEPS_FOR_A_BYTE: u64 = 32;
/// The deepest nesting of schemas that are applied, each because of the one around it.
const DEEPEST: usize = 512;

/// Why a message is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Excess {
    /// Too many steps.
    #[error("its check against the JSON Schema takes more than {0} steps")]
    Steps(u64),
    /// Too deep.
    #[error("it applies the JSON Schema more than {DEEPEST} levels deep")]
    Depth,
}

struct EffortWalk<'a> {
    root: &'a Value,
    references: &'a References,
    patterns: &'a Patterns,
    failed: Failures<'a>,
    most: u64,
    steps: u64,
}

/// Counts the steps for a message of so many bytes.
///
/// # Errors
/// When they exceed the limits.
pub(super) fn steps(
    schema: &Value,
    references: &References,
    patterns: &Patterns,
    message: &Value,
    bytes: usize,
) -> Result<u64, Excess> {
    let mut walk = EffortWalk {
        root: schema,
        references,
        patterns,
        failed: Failures::default(),
        most: STEPS.saturating_add(STEPS_FOR_A_BYTE.saturating_mul(bytes as u64)),
        steps: 0,
    };
    walk.apply(schema, message, 0)?;
    Ok(walk.steps)
}

impl EffortWalk<'_> {
    fn apply(&mut self, schema: &Value, value: &Value, depth: usize) -> Result<(), Excess> {
        if depth > DEEPEST {
            return Err(Excess::Depth);
        }
        self.count(1)?;
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        let inner = depth + 1;
        // They apply the schemas beside them once more, to find out what is left.
        let is_twice = ["unevaluatedProperties", "unevaluatedItems"];
        let is_twice = is_twice
            .iter()
            .any(|keyword| keywords.contains_key(*keyword));
        let times = if is_twice { 2 } else { 1 };
        for (keyword, schema) in keywords {
            match (applies(keyword), value) {
                (None, value) => self.plain(keyword, schema, value)?,
                (Some(Applies::Whole), value) => {
                    for _ in 0..times {
                        for schema in schemas(keyword, schema) {
                            self.apply(schema, value, inner)?;
                        }
                    }
                }
                (Some(Applies::Named), Value::Object(members)) => {
                    let schemas = schema.as_object().into_iter().flatten();
                    for (name, schema) in schemas {
                        self.count(1)?;
                        if let Some(value) = members.get(name) {
                            self.apply(schema, value, inner)?;
                        }
                    }
                }
                (Some(Applies::Matching | Applies::Members), Value::Object(members)) => {
                    self.match_names(keywords, members)?;
                    for schema in schemas(keyword, schema) {
                        for value in members.values() {
                            self.apply(schema, value, inner)?;
                        }
                    }
                }
                (Some(Applies::Names), Value::Object(members)) => {
                    for name in members.keys() {
                        self.count(name.len() as u64 / 64)?;
                        self.apply(schema, &Value::String(name.clone()), inner)?;
                    }
                }
                (Some(Applies::Elements), Value::Array(elements)) => match schema {
                    Value::Array(schemas) => {
                        for (schema, value) in schemas.iter().zip(elements) {
                            self.apply(schema, value, inner)?;
                        }
                    }
                    schema => {
                        for value in elements {
                            self.apply(schema, value, inner)?;
                        }
                    }
                },
                _ => {}
            }
        }
        let target = self.references.target(keywords, self.root);
        for _ in 0..times {
            if let Some(target) = target {
                self.apply(target, value, inner)?;
            }
        }
        Ok(())
    }

    /// Counts a keyword without schemas. Values are compared with each of a list, and some keywords read the whole value.
    fn plain(&mut self, keyword: &str, schema: &Value, value: &Value) -> Result<(), Excess> {
        if let ("enum" | "required", Value::Array(values)) = (keyword, schema) {
            self.count(values.len() as u64 / 8)?;
        }
        match (keyword, value) {
            ("pattern", Value::String(text)) => {
                self.match_text(schema.as_str().unwrap_or_default(), text)
            }
            ("minLength" | "maxLength" | "const" | "enum" | "format", Value::String(text)) => {
                self.count(text.len() as u64 / 64)
            }
            ("uniqueItems" | "const" | "enum", Value::Array(elements)) => {
                self.count(elements.len() as u64 / 8)
            }
            _ => Ok(()),
        }
    }

    /// Counts the patterns that the names of members are matched with. The schemas of all further members match them
    /// once more, to find out what is left.
    fn match_names(
        &mut self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Result<(), Excess> {
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for pattern in patterns.into_iter().flat_map(Map::keys) {
            for name in members.keys() {
                self.match_text(pattern, name)?;
            }
        }
        Ok(())
    }

    fn match_text(&mut self, pattern: &str, text: &str) -> Result<(), Excess> {
        let steps = self.patterns.steps(pattern, text, &mut self.failed);
        self.count(steps)
    }

    fn count(&mut self, steps: u64) -> Result<(), Excess> {
        self.steps = self.steps.saturating_add(steps);
        match self.steps > self.most {
            true => Err(Excess::Steps(self.most)),
            false => Ok(()),
        }
    }
}
