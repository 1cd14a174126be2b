//! The JSON Schema of pipeline files, with which editors complete and check them.
//!
//! It is written in draft 7, which the TOML language servers support. It can't express everything that
//! [`crate::reader::read`] checks: the names of stages, matching schemas, cycles.

use schemars::Schema;
use schemars::transform::{RemoveRefSiblings, ReplacePrefixItems, Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use crate::manifest::{Manifest, config_schema};
use crate::pipeline::{Isolation, OnError, OnStop, Queue, Restart, WhenFull};
use crate::reader::keywords::Keyword;
use crate::reader::problem::{MAX_CAPACITY, MAX_RESTARTS, MAX_STAGES};
use crate::reader::{Plugins, duration};

/// The schema, with the names of these plugins and the schemas of their configs.
#[must_use]
pub fn pipeline_schema(plugins: &dyn Plugins) -> Value {
    let mut names = plugins.names();
    names.sort_unstable();
    let manifests: Vec<&Manifest> = names
        .into_iter()
        .filter_map(|name| plugins.manifest(name))
        .collect();
    let configs = manifests
        .iter()
        .map(|manifest| (definition(manifest), config(manifest)));
    let mut definitions: Map<String, Value> = configs.collect();
    definitions.insert("plugin".to_owned(), plugin(&manifests));
    definitions.insert("stage".to_owned(), stage(&manifests));
    definitions.insert("source".to_owned(), source());
    definitions.insert("queue".to_owned(), queue());
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "flowpipe pipeline",
        "description": "A pipeline of plugins that sees a puzzle on a screen and plays it.",
        "type": "object",
        "additionalProperties": false,
        "required": ["stages"],
        "properties": {
            "name": {
                "description": "The pipeline's name. Default: the file's name without its extension.",
                "type": "string",
                "minLength": 1,
            },
            "on_stop": words::<OnStop>("What happens to queued messages when the run is stopped."),
            "record": {
                "description": "Record each run, to replay, compare and inspect it.",
                "type": "object",
                "additionalProperties": false,
                "required": ["file"],
                "properties": {
                    "file": {
                        "description": "The recording (MCAP). {name} is replaced by the pipeline's name, {time} by the time of the start.",
                        "type": "string",
                        "minLength": 1,
                    },
                    "lossless": {
                        "description": "Have the stages wait when the recorder can't keep up, so that nothing is dropped.",
                        "type": "boolean",
                        "default": false,
                    },
                },
            },
            "stages": {
                "description": "The stages by name. Each runs on its own thread.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": MAX_STAGES,
                "propertyNames": { "pattern": "^[\\p{Alphabetic}\\p{N}_-]+$" },
                "additionalProperties": { "$ref": "#/definitions/stage" },
            },
        },
        "definitions": definitions,
    })
}

fn plugin(manifests: &[&Manifest]) -> Value {
    let mut plugin = json!({ "type": "string", "description": "The name of a plugin." });
    // An empty list of choices is no valid schema.
    if !manifests.is_empty() {
        plugin["enum"] = manifests.iter().map(|m| json!(m.name)).collect();
        let docs: Value = manifests.iter().map(|m| json!(m.doc)).collect();
        plugin["x-taplo"] = json!({ "docs": { "enumValues": docs } });
    }
    plugin
}

fn stage(manifests: &[&Manifest]) -> Value {
    let names: Vec<_> = manifests.iter().map(|manifest| &manifest.name).collect();
    let mut rules = vec![json!({
        "if": { "properties": { "plugin": { "type": "array" } }, "required": ["plugin"] },
        "then": { "properties": { "config": {
            "propertyNames": if names.is_empty() { json!(true) } else { json!({ "enum": names }) },
            "additionalProperties": { "type": "object" },
        } } },
    })];
    for manifest in manifests {
        rules.push(alone(manifest));
        rules.push(racing(manifest));
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["plugin"],
        "properties": {
            "plugin": {
                "description": "The plugin that does the work, or a list of plugins that race: the first valid answer wins.",
                "anyOf": [
                    { "$ref": "#/definitions/plugin" },
                    {
                        "type": "array",
                        "items": { "$ref": "#/definitions/plugin" },
                        "minItems": 1,
                        "uniqueItems": true,
                    },
                ],
            },
            "config": {
                "description": "The plugin's config; for plugins that race, keyed by plugin.",
                "type": "object",
            },
            "from": {
                "description": "Where the input comes from: \"STAGE\", \"STAGE.PORT\", a table, or a list of those.",
                "anyOf": [
                    { "$ref": "#/definitions/source" },
                    { "type": "array", "items": { "$ref": "#/definitions/source" }, "minItems": 1 },
                ],
            },
            "queue": {
                "description": "The rules of the queues of this stage's inputs.",
                "allOf": [{ "$ref": "#/definitions/queue" }],
            },
            "timeout": time("How long the work on one message may take; after it the work is cancelled. Default: any time."),
            "watchdog": time("How long the stage may take for one message before the watchdog reports it. Default: \"10s\"."),
            "on_error": words::<OnError>("What happens when the stage fails on a message."),
            "restart": restart(),
            "isolation": words::<Isolation>("Where the stage runs."),
        },
        "allOf": rules,
    })
}

/// The rules of a stage with this plugin alone.
fn alone(manifest: &Manifest) -> Value {
    let mut then =
        json!({ "properties": { "config": { "$ref": reference(&definition(manifest)) } } });
    let mut required = Vec::new();
    if needs_config(manifest) {
        required.push("config");
    }
    if manifest.inputs.is_empty() {
        then["properties"]["from"] = json!(false);
        then["properties"]["queue"] = json!(false);
    } else {
        required.push("from");
    }
    then["required"] = json!(required);
    let plugin = json!({ "const": manifest.name });
    json!({ "if": { "properties": { "plugin": plugin }, "required": ["plugin"] }, "then": then })
}

/// The rules of a stage in which this plugin races others.
fn racing(manifest: &Manifest) -> Value {
    let name = manifest.name.as_str();
    let mut config =
        json!({ "properties": { name: { "$ref": reference(&definition(manifest)) } } });
    let mut required = vec!["from"];
    if needs_config(manifest) {
        config["required"] = json!([name]);
        required.push("config");
    }
    let plugin = json!({ "type": "array", "contains": { "const": name } });
    json!({
        "if": { "properties": { "plugin": plugin }, "required": ["plugin"] },
        "then": { "properties": { "config": config }, "required": required },
    })
}

fn source() -> Value {
    json!({
        "anyOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["stage"],
                "properties": {
                    "stage": { "type": "string", "description": "The stage that sends." },
                    "port": { "type": "string", "description": "The output, if several match." },
                    "into": { "type": "string", "description": "The input, if several match." },
                    "queue": {
                        "description": "The rules of this queue alone.",
                        "allOf": [{ "$ref": "#/definitions/queue" }],
                    },
                },
            },
        ],
    })
}

fn queue() -> Value {
    let default = Queue::default();
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "capacity": {
                "description": "The most messages that it holds.",
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_CAPACITY,
                "default": default.capacity,
            },
            "when_full": words::<WhenFull>("What happens to a message when the queue is full."),
        },
    })
}

fn restart() -> Value {
    let default = Restart::default();
    let mut backoff =
        time("The delay before the first restart; it doubles with each further restart in a row.");
    backoff["default"] = json!("100ms");
    json!({
        "description": "Restart the stage after a failure. The current message is lost.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "max": {
                "description": "The most restarts in a row without a processed message in between; then on_error decides.",
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESTARTS,
                "default": default.max,
            },
            "backoff": backoff,
        },
    })
}

fn time(doc: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "pattern": duration::PATTERN, "description": doc })
}

fn words<T: Keyword>(doc: &str) -> Value {
    let names: Vec<_> = T::ALL.iter().map(|value| value.word()).collect();
    let docs: Vec<_> = T::ALL.iter().map(|value| value.doc()).collect();
    json!({
        "description": doc,
        "enum": names,
        "default": names.first(),
        "x-taplo": { "docs": { "enumValues": docs } },
    })
}

fn definition(manifest: &Manifest) -> String {
    format!("config-{}", manifest.name)
}

fn reference(definition: &str) -> String {
    format!(
        "#/definitions/{}",
        encode(&definition.replace('~', "~0").replace('/', "~1"))
    )
}

/// Percent-encodes text for the fragment of a URI.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn needs_config(manifest: &Manifest) -> bool {
    config_schema(&manifest.config).is_ok_and(|schema| !schema.is_valid(&json!({})))
}

/// The schema of a plugin's config, as its definition.
fn config(manifest: &Manifest) -> Value {
    let usable = config_schema(&manifest.config).is_ok();
    let schema = Schema::try_from(manifest.config.clone())
        .ok()
        .filter(|_| usable);
    // One broken schema must not break the whole schema.
    let Some(mut schema) = schema else {
        return json!({ "type": "object", "description": manifest.doc });
    };
    if schema.as_object().is_some() {
        schema.remove("$schema");
        schema.remove("$id");
        if schema.get("description").is_none() && !manifest.doc.is_empty() {
            schema.insert("description".to_owned(), json!(manifest.doc));
        }
    }
    Rebase {
        root: reference(&definition(manifest)),
    }
    .transform(&mut schema);
    RemoveRefSiblings::default().transform(&mut schema);
    ReplacePrefixItems::default().transform(&mut schema);
    schema.to_value()
}

/// Makes references to the root of a schema refer to its definition.
struct Rebase {
    root: String,
}

impl Transform for Rebase {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(reference)) = schema.get_mut("$ref")
            && let Some(path) = reference.strip_prefix('#')
            && (path.is_empty() || path.starts_with('/'))
        {
            *reference = format!("{}{path}", self.root);
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::read;
    use crate::reader::testing::{Outcome, plugins, samples};

    /// Whether an editor's language server accepts a pipeline file.
    fn accepts(schema: &jsonschema::Validator, text: &str) -> bool {
        let file: toml::Value = toml::from_str(text).unwrap();
        schema.is_valid(&serde_json::to_value(file).unwrap())
    }

    #[test]
    fn agrees_with_the_reader() {
        let plugins = plugins();
        let value = pipeline_schema(&plugins);
        jsonschema::draft7::meta::validate(&value).unwrap();
        let schema = jsonschema::draft7::new(&value).unwrap();
        for (text, outcome) in samples() {
            assert_eq!(
                read("x.toml", text, &plugins).is_ok(),
                outcome == Outcome::Good,
                "{text}"
            );
            // The schema accepts errors that it can't detect.
            assert_eq!(accepts(&schema, text), outcome != Outcome::Bad, "{text}");
        }
    }

    #[test]
    fn is_a_schema_without_any_plugin() {
        struct None;
        impl Plugins for None {
            fn manifest(&self, _: &str) -> Option<&Manifest> {
                Option::None
            }
            fn names(&self) -> Vec<&str> {
                Vec::new()
            }
            fn refused(&self, _: &str) -> Option<String> {
                Option::None
            }
        }
        let value = pipeline_schema(&None);
        jsonschema::draft7::meta::validate(&value).unwrap();
        let schema = jsonschema::draft7::new(&value).unwrap();
        assert!(accepts(
            &schema,
            "[stages.a]\nplugin = 'any'\nconfig = { a = 1 }"
        ));
        assert!(!accepts(&schema, "[stages.a]\nconfig = { a = 1 }"));
    }

    #[test]
    fn references_point_to_the_definitions() {
        let value = pipeline_schema(&plugins());
        let order = &value["definitions"]["config-solver-search"]["properties"]["order"];
        assert_eq!(
            order["anyOf"][0]["$ref"],
            "#/definitions/config-solver-search/$defs/Order"
        );
        assert_eq!(
            reference("config-a/b ~\"ü"),
            "#/definitions/config-a~1b%20~0%22%C3%BC"
        );
    }
}
