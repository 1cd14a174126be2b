//! What a JSON Schema says of a value, as text.

use serde_json::Value;

/// The names of the fields that an object must have.
pub fn required(schema: &Value) -> Vec<&str> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// A doc comment's paragraphs, each on one line.
pub fn unwrapped(doc: &str) -> String {
    doc.split("\n\n")
        .map(|part| part.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// What a `$ref` within the schema points to, else the property itself.
pub fn resolve<'a>(schema: &'a Value, property: &'a Value) -> &'a Value {
    property
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| schema.pointer(pointer))
        .unwrap_or(property)
}

/// The description of a property, or else of what it refers to.
pub fn description(schema: &Value, property: &Value) -> Option<String> {
    let own = |value: &Value| {
        value
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    own(property).or_else(|| own(resolve(schema, property)))
}

/// The type as text, if the schema is simple.
pub fn kind(schema: &Value, property: &Value) -> String {
    let property = resolve(schema, property);
    match property.get("type") {
        _ if !choices(schema, property).is_empty() || property.get("enum").is_some() => {
            "one of".to_owned() + &enumeration(schema, property)
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|&name| name != "null")
                .collect();
            names.join(" or ")
        }
        _ => match alternatives(property) {
            Some(alternatives) => {
                let kinds: Vec<String> = alternatives
                    .iter()
                    .filter(|one| one.get("type").and_then(Value::as_str) != Some("null"))
                    .map(|one| kind(schema, one))
                    .collect();
                kinds.join(" or ")
            }
            None => "any value".to_owned(),
        },
    }
}

fn enumeration(schema: &Value, property: &Value) -> String {
    let values: Vec<String> = match property.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().map(Value::to_string).collect(),
        None => choices(schema, property)
            .into_iter()
            .map(|(value, _)| value)
            .collect(),
    };
    format!(" {}", values.join(", "))
}

/// The schemas of which a value fits one.
pub fn alternatives(property: &Value) -> Option<&Vec<Value>> {
    property
        .get("oneOf")
        .or_else(|| property.get("anyOf"))
        .and_then(Value::as_array)
}

/// The values of an enum whose variants have docs of their own.
pub fn choices(schema: &Value, property: &Value) -> Vec<(String, String)> {
    let property = resolve(schema, property);
    let choice = |one: &Value| {
        let value = one.get("const")?.to_string();
        let doc = one
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Some((value, unwrapped(doc)))
    };
    alternatives(property)
        .into_iter()
        .flatten()
        .filter_map(choice)
        .collect()
}
