//! The JSON Schema of pipeline files, with which editors complete and check them.
//!
//! It is written in draft 7, which the TOML language servers support. It can't express everything that
//! [`crate::reader::read`] checks: the names of stages, matching schemas, cycles.

use schemars::Schema;
use schemars::transform::{RemoveRefSiblings, ReplacePrefixItems, Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use crate::manifest::{Manifest, config_schema};
use crate::reader::Plugins;
use crate::reader::written::{self, queue, source, stage};

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
    definitions.insert("queue".to_owned(), queue::keys().schema());
    let mut schema = written::keys().schema();
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("flowpipe pipeline");
    schema["description"] =
        json!("A pipeline of plugins that sees a puzzle on a screen and plays it.");
    schema["definitions"] = json!(definitions);
    schema
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
    let mut schema = stage::keys().schema();
    schema["allOf"] = json!(rules);
    schema
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
    if manifest.why_one_worker(&Value::Null).is_some() {
        then["properties"]["workers"] = json!({ "const": 1 });
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
    json!({ "anyOf": [{ "type": "string", "minLength": 1 }, source::keys().schema()] })
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
    let schema = Schema::try_from((*manifest.config).clone())
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
    use crate::reader::testing::{Outcome, plugins, read_file, samples};

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
            assert_eq!(read_file(text).is_ok(), outcome == Outcome::Good, "{text}");
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
