//! The page of messages, from their JSON Schemas.

use std::collections::BTreeMap;

use flowpipe_puzzle::message;
use flowpipe_recording::entry;
use schemars::Schema;
use serde_json::Value;

use super::page::{Page, code, prose};
use super::types::Types;

const INTRODUCTION: [&str; 4] = [
    "This page lists the messages that flow between stages, and the entries of recordings. A message is a JSON object. \
     Its schema id ends in its version.",
    "A reader ignores fields that it does not know, except in a puzzle, a pace, a gesture, its actions and a rectangle, \
     where they are errors. Within a version, only fields are added that a reader may ignore.",
    "`flowpipe.frame/1` comes with the pixels of the frame, which are not part of the JSON. Recordings also contain \
     messages of [Foxglove](https://docs.foxglove.dev/docs/visualization/message-schemas/introduction).",
    "`flowpipe reference` writes this page from the types of the program.",
];

pub fn page() -> String {
    let groups = [
        (
            "Messages of any domain",
            values(flowpipe_message::schemas()),
        ),
        ("Messages of Flow Free", values(message::schemas())),
        ("Entries of recordings", values(entry::schemas())),
    ];
    let mut page = Page::new("Messages", &INTRODUCTION);
    let mut parts = BTreeMap::new();
    for (title, schemas) in &groups {
        page.heading(2, title);
        for (id, schema) in schemas {
            page.heading(3, id);
            describe(&mut page, schema, schema, &groups);
            parts.extend(definitions(schema).map(|(name, part)| (name, (schema, part))));
        }
    }
    page.heading(2, "Parts of messages and entries");
    for (name, (root, part)) in parts {
        if message_of(name, &groups).is_none() {
            page.heading(3, name);
            describe(&mut page, root, part, &groups);
        }
    }
    page.finish()
}

/// The schemas of a group, by schema id.
type Group = (&'static str, Vec<(&'static str, Value)>);

fn values(schemas: impl IntoIterator<Item = (&'static str, Schema)>) -> Vec<(&'static str, Value)> {
    let schemas = schemas.into_iter();
    schemas
        .map(|(id, schema)| (id, schema.to_value()))
        .collect()
}

/// The types that a schema defines for its fields.
fn definitions(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    definitions
        .into_iter()
        .flatten()
        .map(|(name, part)| (name.as_str(), part))
}

/// The schema id of the message that a type is the body of.
fn message_of(name: &str, groups: &[Group]) -> Option<&'static str> {
    let mut schemas = groups.iter().flat_map(|(_, schemas)| schemas);
    let is_named = |schema: &Value| schema.get("title").and_then(Value::as_str) == Some(name);
    schemas
        .find(|(_, schema)| is_named(schema))
        .map(|(id, _)| *id)
}

/// The anchor of a heading.
pub fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(['.', '/'], "")
}

fn describe(page: &mut Page, root: &Value, schema: &Value, groups: &[Group]) {
    if let Some(doc) = schema.get("description").and_then(Value::as_str) {
        for paragraph in doc.split("\n\n") {
            page.paragraph(&prose(paragraph));
        }
    }
    let link = |name: &str| {
        let title = message_of(name, groups).unwrap_or(name);
        Some(format!("[{}](#{})", code(title), anchor(title)))
    };
    let types = Types { root, link: &link };
    page.list(&types.body(schema, 0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::types::named_variant;

    fn all() -> impl Iterator<Item = (&'static str, Schema)> {
        let messages = flowpipe_message::schemas().into_iter();
        messages.chain(message::schemas()).chain(entry::schemas())
    }

    #[test]
    fn every_field_has_a_description() {
        fn check(name: &str, schema: &Value) {
            let fields = schema.get("properties").and_then(Value::as_object);
            for (field, schema) in fields.into_iter().flatten() {
                let is_tag = schema.get("const").is_some();
                let is_described = schema.get("description").is_some();
                assert!(is_tag || is_described, "{name}: {field}");
            }
            let variants = schema.get("oneOf").and_then(Value::as_array);
            for variant in variants.into_iter().flatten() {
                assert!(variant.get("description").is_some(), "{name}: {variant}");
                check(
                    name,
                    named_variant(variant).map_or(variant, |(_, content)| content),
                );
            }
        }
        for (id, schema) in all() {
            let schema = schema.to_value();
            check(id, &schema);
            definitions(&schema).for_each(|(name, part)| check(name, part));
        }
    }

    #[test]
    fn types_of_one_name_are_the_same() {
        let mut seen: BTreeMap<String, Value> = BTreeMap::new();
        for (id, schema) in all() {
            let schema = schema.to_value();
            for (name, part) in definitions(&schema) {
                let first = seen.entry(name.to_owned()).or_insert_with(|| part.clone());
                assert_eq!(first, part, "{id}: {name}");
            }
        }
    }
}
