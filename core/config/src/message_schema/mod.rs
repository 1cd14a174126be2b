//! The JSON Schema of a message, which a pipeline gives: read and checked, within limits.
//!
//! A schema can be small and take unbounded time and memory, and so can a message that is checked against it. What is
//! accepted is therefore bounded before the crate `jsonschema` sees it:
//! - [`references`]: which schemas a schema applies to the same value, through references within it. No reference leads
//!   out of the schema, and nothing is fetched.
//! - [`effort`]: the steps that checking a message takes at most, and [`patterns`]: those of matching a pattern.

mod effort;
mod patterns;
mod references;

use std::fmt;

use jsonschema::{PatternOptions, ValidationError, Validator};
use patterns::Patterns;
use references::References;
use serde_json::Value;

/// The largest file with a JSON Schema, in bytes.
pub const MAX_BYTES: usize = 256 * 1024;

/// The most bytes of a compiled pattern.
const MOST_OF_A_PATTERN: usize = 512 * 1024;

/// The stack of the thread that compiles a schema. Most of it is never touched.
const STACK: usize = 64 << 20;

/// The largest product of a message's bytes and steps for which a form of several is explained: each form's explanation
/// has a copy of its value.
const MOST_EXPLAINED: u64 = 1 << 27;

/// The longest explanation of a mismatch, in characters.
const LONGEST_REASON: usize = 300;

/// The JSON Schema of a message.
pub struct MessageSchema {
    value: Value,
    validator: Validator,
    references: References,
    patterns: Patterns,
}

/// Where a message does not conform, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", at(.place))]
pub struct Mismatch {
    /// The JSON Pointer of the value; empty: the whole message.
    pub place: String,
    /// Why.
    pub reason: String,
}

impl MessageSchema {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Why it is no JSON Schema that can be used, as a sentence for users.
    pub fn parse(bytes: &[u8]) -> Result<Value, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or_default();
            format!("the byte 0x{byte:02x} at offset {at} is no part of UTF-8 text")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
    }

    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it can't be used, as a sentence for users.
    pub fn new(value: Value) -> Result<Self, String> {
        if !value.is_object() && !value.is_boolean() {
            return Err("a JSON Schema is an object, or true or false".to_owned());
        }
        if value.to_string().len() > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        let references = References::of(&value)?;
        let validator = compile(&value)?;
        let patterns = Patterns::of(references.patterns(), MOST_OF_A_PATTERN);
        Ok(Self {
            value,
            validator,
            references,
            patterns,
        })
    }

    /// The schema as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The schema as JSON.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Checks a message of so many bytes.
    ///
    /// # Errors
    /// The first place where it does not conform.
    pub fn check(&self, message: &Value, bytes: usize) -> Result<(), Mismatch> {
        let (schema, references) = (&self.value, &self.references);
        let steps = effort::steps(schema, references, &self.patterns, message, bytes)
            .map_err(|excess| Mismatch::new(String::new(), excess.to_string()))?;
        if self.validator.is_valid(message) {
            return Ok(());
        }
        let cost = steps.saturating_mul(bytes as u64);
        if self.references.has_alternatives() && cost > MOST_EXPLAINED {
            let reason = "it does not conform; it is too large to say where";
            return Err(Mismatch::new(String::new(), reason.to_owned()));
        }
        match self.validator.validate(message) {
            Ok(()) => Ok(()),
            Err(error) => Err(Mismatch::of(&error)),
        }
    }
}

impl fmt::Debug for MessageSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(formatter)
    }
}

impl Mismatch {
    fn new(place: String, reason: String) -> Self {
        Self { place, reason }
    }

    fn of(error: &ValidationError<'_>) -> Self {
        let place = error.instance_path().as_str().to_owned();
        Self::new(place, shortened(&error.to_string()))
    }
}

/// The text for a place.
fn at(place: &str) -> String {
    match place {
        "" => "the message".to_owned(),
        place => format!("at {}", shortened(place)),
    }
}

/// The start and the end of a long text: the value that is shown first can be of any length, and the reason follows it.
fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST_REASON {
        return text.to_owned();
    }
    let half = LONGEST_REASON / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start} … {end}")
}

fn compile(schema: &Value) -> Result<Validator, String> {
    let build = || {
        let patterns = PatternOptions::regex()
            .size_limit(MOST_OF_A_PATTERN)
            .dfa_size_limit(MOST_OF_A_PATTERN);
        let built = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(schema);
        built.map_err(|error| {
            let place = error.instance_path().as_str();
            format!("{}: {}", place_in(place), shortened(&error.to_string()))
        })
    };
    // The depth of references is limited, but by more than what every thread has room for.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, build);
        let thread = thread.map_err(|error| format!("a thread can't be started: {error}"))?;
        thread
            .join()
            .unwrap_or_else(|_| Err("it can't be compiled".to_owned()))
    })
}

/// The text for a place in a schema.
fn place_in(place: &str) -> String {
    match place {
        "" => "it".to_owned(),
        place => format!("at {}", shortened(place)),
    }
}

/// The JSON Pointer of the first place where two schemas differ. `None`: they are the same JSON, in which the order of
/// an object's members has no meaning.
#[must_use]
pub fn difference(one: &Value, other: &Value) -> Option<String> {
    let step = |segment: &str, rest: String| {
        let segment = segment.replace('~', "~0").replace('/', "~1");
        format!("/{segment}{rest}")
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let inner = one.iter().find_map(|(key, value)| {
                let inner = match other.get(key) {
                    Some(there) => difference(value, there)?,
                    None => String::new(),
                };
                Some(step(key, inner))
            });
            let extra = || other.keys().find(|key| !one.contains_key(*key));
            inner.or_else(|| extra().map(|key| step(key, String::new())))
        }
        (Value::Array(one), Value::Array(other)) => {
            let pairs = one.iter().zip(other).enumerate();
            let mut inner = pairs.filter_map(|(index, (one, other))| {
                Some(step(&index.to_string(), difference(one, other)?))
            });
            let shorter = one.len().min(other.len());
            let extra =
                || (one.len() != other.len()).then(|| step(&shorter.to_string(), String::new()));
            inner.next().or_else(extra)
        }
        _ => (one != other).then(String::new),
    }
}

#[cfg(test)]
mod tests;
