//! What a plugin declares of a stage before it is created.

pub mod effects;
mod read;

use jsonschema::{PatternOptions, ValidationError, Validator};
pub use read::read_manifest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::effects::Effects;

/// The manifest of one stage (see the factory's comment in `flowpipe.h`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The plugin's name, as pipelines use it.
    pub name: String,
    /// The plugin's release.
    #[serde(default)]
    pub version: String,
    /// capture, vision, solver, planner, actuator or stage. The runtime does not read it.
    pub role: String,
    /// A paragraph for people.
    #[serde(default)]
    pub doc: String,
    /// None: the stage is a source.
    #[serde(default)]
    pub inputs: Vec<Port>,
    /// None: the stage is a sink.
    #[serde(default)]
    pub outputs: Vec<Port>,
    /// The JSON Schema of its config.
    #[serde(default = "any_object")]
    pub config: Value,
    /// What it takes, in a few words each, where its role leaves a choice. The runtime does not read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supports: Vec<String>,
    /// The same messages in give the same messages out.
    #[serde(default)]
    pub deterministic: bool,
    /// What it does to the world outside of the program.
    #[serde(default, skip_serializing_if = "Effects::is_unknown")]
    pub effects: Effects,
    /// `unwind` or `abort`.
    #[serde(default = "unwind")]
    pub panic: String,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The schema id of its messages; `*` meets any.
    pub schema: String,
}

/// Bytes that a pattern in a schema may take when it is made ready.
const MOST_OF_A_PATTERN: usize = 1 << 20;

/// What configs are held against by a manifest's schema. Patterns take time in proportion to the text; look-around
/// and references back, with which they may take for ever, are not among them.
///
/// # Errors
/// Why it is no JSON Schema.
pub fn config_schema(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::regex()
        .size_limit(MOST_OF_A_PATTERN)
        .dfa_size_limit(MOST_OF_A_PATTERN);
    jsonschema::options()
        .with_pattern_options(patterns)
        .build(schema)
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

fn unwind() -> String {
    "unwind".to_owned()
}

impl Port {
    /// Whether messages from this output can go into that input.
    #[must_use]
    pub fn meets(&self, input: &Self) -> bool {
        self.schema == input.schema || self.schema == "*" || input.schema == "*"
    }
}
