//! The JSON Schema of pipeline files, with which editors complete and check them.
//!
//! It is written in draft 7, which the TOML language servers know. It can't say everything that
//! [`crate::reader::read`] checks: which stages there are, whether schemas meet, cycles.

use schemars::Schema;
use schemars::transform::{RemoveRefSiblings, ReplacePrefixItems, Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use crate::manifest::{Manifest, config_schema};
use crate::pipeline::{Isolation, OnError, OnStop, Queue, Restart, WhenFull};
use crate::reader::problem::{MAX_CAPACITY, MAX_RESTARTS, MAX_STAGES};
use crate::reader::words::Word;
use crate::reader::{Plugins, duration};

/// The schema, with the names of these plugins and the schemas of their configs in it.
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
                "description": "What the pipeline is called. Default: the file's name without its extension.",
                "type": "string",
                "minLength": 1,
            },
            "on_stop": words::<OnStop>("What becomes of queued messages when the run is asked to stop."),
            "record": {
                "description": "Write each run down, to be run again, compared and looked at.",
                "type": "object",
                "additionalProperties": false,
                "required": ["file"],
                "properties": {
                    "file": {
                        "description": "The recording (MCAP). {name} stands for the pipeline's name, {time} for the time of the start.",
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
                "description": "The stages by name. Each runs on a thread of its own.",
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
            "watchdog": time("How long the stage may sit on one message before the watchdog names it. Default: \"10s\"."),
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
                    "stage": { "type": "string", "description": "The stage that gives." },
                    "port": { "type": "string", "description": "Which of its outputs, where several fit." },
                    "into": { "type": "string", "description": "Into which input, where several fit." },
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
                "description": "How many messages it holds.",
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_CAPACITY,
                "default": default.capacity,
            },
            "when_full": words::<WhenFull>("What happens to a message that finds the queue full."),
        },
    })
}

fn restart() -> Value {
    let default = Restart::default();
    let mut backoff =
        time("How long it waits the first time; twice as long each further time in a row.");
    backoff["default"] = json!("100ms");
    json!({
        "description": "Make the stage anew after a failure: it costs the message in hand.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "max": {
                "description": "So often in a row, without a message worked through in between; then on_error decides.",
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

fn words<T: Word>(doc: &str) -> Value {
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

/// For the fragment of a URI.
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

/// The schema of a plugin's config, as it stands under its definition.
fn config(manifest: &Manifest) -> Value {
    let usable = config_schema(&manifest.config).is_ok();
    let schema = Schema::try_from(manifest.config.clone())
        .ok()
        .filter(|_| usable);
    // One broken schema must not break the whole.
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

/// Makes references from the root of a schema start at its new place.
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

    /// A pipeline file as an editor's language server sees it.
    fn accepts(schema: &jsonschema::Validator, text: &str) -> bool {
        let file: toml::Value = toml::from_str(text).unwrap();
        schema.is_valid(&serde_json::to_value(file).unwrap())
    }

    #[test]
    fn judges_as_the_reader_does() {
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
            // What the schema can't see it takes for good.
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
    fn references_lead_to_their_new_place() {
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
