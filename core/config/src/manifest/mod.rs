//! The manifest: what a plugin declares about a stage before it is created.

mod carried;
mod declaration;
pub mod effects;
mod read;
mod schema_text;

use std::borrow::Cow;

pub use carried::{Carried, Content};
pub use declaration::{Declaration, DeclaredPort, Direction};
use jsonschema::{PatternOptions, ValidationError, Validator};
pub use read::{read_accepted_manifest, read_manifest};
pub use schema_text::SchemaText;
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
    #[serde(default)]
    pub config: SchemaText,
    /// Its features, a few words each, if its role leaves a choice. The runtime does not read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supports: Vec<String>,
    /// The same input always gives the same output.
    #[serde(default)]
    pub deterministic: bool,
    /// Its effects on the world outside of the program.
    #[serde(default, skip_serializing_if = "Effects::is_unknown")]
    pub effects: Effects,
    /// Its config declares its ports, its determinism and more effects: see [`Manifest::with_config`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared_by_config: bool,
    /// `unwind` or `abort`.
    #[serde(default = "unwind")]
    pub panic: String,
}

/// An input or output. Two are equal if their names, schemas and contents are: then plugins fit in one place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The schema id of its messages; `*` matches any.
    pub schema: String,
    /// Whether a pipeline may leave this input unconnected. At least one input of a stage is connected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The check that messages of this output need, by its plugin's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// What its messages carry besides their JSON.
    #[serde(default, skip_serializing_if = "Carried::is_default")]
    pub carries: Carried,
    /// Of an output with the schema `*`: the config key that names the schema id of its messages, where it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_key: Option<String>,
    /// Of an output: the input whose messages it passes on, with what they carry and, where no config key names another
    /// one, with their schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<String>,
    /// Of an output: the input whose messages it joins. Its buffers are those that come in, joined along the first
    /// dimension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<String>,
    /// Of an output: the config key that names the type of the elements of its buffers, where `carries` declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_key: Option<String>,
}

/// The most bytes of a compiled pattern in a schema.
const MOST_OF_A_PATTERN: usize = 1 << 20;

/// The validator of configs for a manifest's schema. Patterns take linear time: look-around and back-references are not
/// supported.
///
/// # Errors
/// When it is no valid JSON Schema.
pub fn config_schema(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::regex()
        .size_limit(MOST_OF_A_PATTERN)
        .dfa_size_limit(MOST_OF_A_PATTERN);
    jsonschema::options()
        .with_pattern_options(patterns)
        .build(schema)
}

fn unwind() -> String {
    "unwind".to_owned()
}

/// The role of a plugin that judges the messages of stages. Its inputs name the schemas.
const CHECK: &str = "check";

impl Manifest {
    /// Whether it is a check, and no stage.
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.role == CHECK
    }

    /// Whether it is a check that judges messages of a schema.
    #[must_use]
    pub fn judges(&self, schema: &str) -> bool {
        self.is_check() && self.inputs.iter().any(|input| input.schema == schema)
    }

    /// What a config of the stage declares.
    #[must_use]
    pub fn declaration<'m, 'c>(&'m self, config: &'c Value) -> Declaration<'m, 'c> {
        Declaration::new(self, config)
    }

    /// The manifest of a stage with this config: with the ports, effects and determinism that the config declares, if
    /// the plugin permits that.
    #[must_use]
    pub fn with_config(&self, config: &Value) -> Cow<'_, Self> {
        self.declaration(config).manifest()
    }

    /// The config keys that can't be set beside this one: those that `dependentSchemas` of the config's schema forbids
    /// (`{ "window": { "properties": { "monitor": false } } }`), whichever of the two it names first.
    pub fn excluded_by<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let schemas = self.config.get("dependentSchemas");
        let schemas = schemas.and_then(Value::as_object).into_iter().flatten();
        let pairs = schemas.flat_map(|(first, schema)| {
            let keys = schema.get("properties").and_then(Value::as_object);
            let forbidden = keys
                .into_iter()
                .flatten()
                .filter(|(_, schema)| forbids(schema));
            forbidden.map(move |(second, _)| (first.as_str(), second.as_str()))
        });
        pairs.filter_map(move |(first, second)| {
            if key == first {
                Some(second)
            } else if key == second {
                Some(first)
            } else {
                None
            }
        })
    }
}

/// Whether no value, or only `false`, fits a schema.
fn forbids(schema: &Value) -> bool {
    *schema == false || schema.get("const") == Some(&Value::Bool(false))
}

impl PartialEq for Port {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.schema == other.schema && self.carries == other.carries
    }
}

impl Eq for Port {}

impl Port {
    /// Whether the schema of this output can be that of that input. A run checks each message of an output of any schema.
    #[must_use]
    pub fn meets(&self, input: &Self) -> bool {
        self.schema == input.schema || self.schema == "*" || input.schema == "*"
    }
}
