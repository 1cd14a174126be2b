//! Types and fields of JSON Schemas as text.

use serde_json::Value;

use super::page::{code, prose};
use crate::json_schema::{alternatives, choices, description, required, resolve};

/// A schema, and how the types that it defines are named.
pub struct Types<'a> {
    /// The whole schema.
    pub root: &'a Value,
    /// The text of a reference to a definition; `None`: the definition is described in place.
    pub link: &'a dyn Fn(&str) -> Option<String>,
}

impl Types<'_> {
    /// The fields of an object, as items of a list.
    pub fn fields(&self, object: &Value, depth: usize) -> Vec<(usize, String)> {
        let properties = object.get("properties").and_then(Value::as_object);
        let required = required(object);
        let mut items = Vec::new();
        for (name, field) in properties.into_iter().flatten() {
            let necessity = if required.contains(&name.as_str()) {
                "required".to_owned()
            } else {
                match field.get("default") {
                    None | Some(Value::Null) => "optional".to_owned(),
                    Some(default) => format!("default {}", code(&default.to_string())),
                }
            };
            let doc = description(self.root, field).unwrap_or_default();
            let kind = self.kind(field);
            let text = format!("**{}** ({kind}, {necessity}): {}", code(name), prose(&doc));
            items.push((depth, text));
            items.extend(self.inside(field, depth + 1));
        }
        items
    }

    /// What is below the item of a field whose type is described in place.
    fn inside(&self, field: &Value, depth: usize) -> Vec<(usize, String)> {
        if let Some(target) = reference(field) {
            return match (self.link)(target) {
                Some(_) => Vec::new(),
                None => self.body(resolve(self.root, field), depth),
            };
        }
        let one = alternatives(field)
            .into_iter()
            .flatten()
            .find(|it| !is_null(it));
        match one {
            Some(one) if choices(self.root, field).is_empty() => self.inside(one, depth),
            _ => match field.get("items") {
                Some(items) if items.is_object() => self.inside(items, depth),
                _ => self.body(field, depth),
            },
        }
    }

    /// The fields, variants or values of a type.
    pub fn body(&self, schema: &Value, depth: usize) -> Vec<(usize, String)> {
        let mut items = self.fields(schema, depth);
        for one in alternatives(schema).into_iter().flatten() {
            if let Some(value) = one.get("const") {
                items.push((depth, named(&code(&value.to_string()), one)));
            } else if let Some((tag, value)) = tag(one) {
                let name = format!("{} {}", code(tag), code(&value.to_string()));
                items.push((depth, named(&name, one)));
                if one.get("$ref").is_some() {
                    let text = format!("The fields of {}.", self.kind(one));
                    items.push((depth + 1, text));
                }
                let mut fields = one.clone();
                if let Some(fields) = fields["properties"].as_object_mut() {
                    fields.remove(tag);
                }
                items.extend(self.fields(&fields, depth + 1));
            } else if let Some((name, content)) = named_variant(one) {
                let name = match content.get("items") {
                    Some(_) => format!("{} ({})", code(name), self.kind(content)),
                    None => code(name),
                };
                items.push((depth, named(&name, one)));
                if content.get("$ref").is_some() {
                    let text = format!("The fields of {}.", self.kind(content));
                    items.push((depth + 1, text));
                }
                items.extend(self.fields(content, depth + 1));
            } else if !is_null(one) {
                items.push((depth, named(&self.kind(one), one)));
            }
        }
        for value in schema
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            items.push((depth, code(&value.to_string())));
        }
        items
    }

    /// The type of a value.
    pub fn kind(&self, schema: &Value) -> String {
        self.kind_of(schema, false)
    }

    fn kind_of(&self, schema: &Value, is_plural: bool) -> String {
        if let Some(target) = reference(schema) {
            return match (self.link)(target) {
                Some(link) => link,
                None => self.kind_of(resolve(self.root, schema), is_plural),
            };
        }
        if let Some(value) = schema.get("const") {
            return code(&value.to_string());
        }
        if schema.get("enum").is_some() || !choices(self.root, schema).is_empty() {
            return "one of the values below".to_owned();
        }
        if let Some(alternatives) = alternatives(schema) {
            let kinds = alternatives.iter().map(|one| self.kind_of(one, is_plural));
            return kinds.collect::<Vec<_>>().join(" or ");
        }
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return if is_plural { "any values" } else { "any value" }.to_owned(),
        };
        let kinds = names.iter().map(|name| self.basic(schema, name, is_plural));
        kinds.collect::<Vec<_>>().join(" or ")
    }

    /// A schema as a value of one of JSON's types.
    fn basic(&self, schema: &Value, name: &str, is_plural: bool) -> String {
        let plural = if is_plural { "s" } else { "" };
        let number = |key| schema.get(key).and_then(Value::as_u64);
        let name = match name {
            "null" => return code("null"),
            "array" => {
                let count = match (number("minItems"), number("maxItems")) {
                    (Some(least), Some(most)) if least == most => format!("{least} "),
                    _ => String::new(),
                };
                let items = match (schema.get("prefixItems"), schema.get("items")) {
                    (Some(Value::Array(items)), _) if !items.is_empty() => {
                        self.kind_of(&items[0], true)
                    }
                    (_, Some(items)) if items.is_object() => self.kind_of(items, true),
                    _ => "any values".to_owned(),
                };
                return format!("array{plural} of {count}{items}");
            }
            "object" => match schema.get("additionalProperties") {
                Some(values) if values.is_object() && schema.get("properties").is_none() => {
                    return format!("object{plural} of {} by name", self.kind_of(values, true));
                }
                _ => "object",
            },
            other => other,
        };
        format!(
            "{name}{plural}{}",
            if is_plural {
                String::new()
            } else {
                range(schema)
            }
        )
    }
}

/// The bounds of a number.
fn range(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).filter(|it| it.is_number());
    let over = bound("exclusiveMinimum").map(|least| format!(" above {least}"));
    let under = bound("exclusiveMaximum").map(|most| format!(" below {most}"));
    let closed = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    };
    over.unwrap_or_default() + &closed + &under.unwrap_or_default()
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// The field that distinguishes the variants of a type, and its value in this one.
fn tag(variant: &Value) -> Option<(&str, &Value)> {
    let properties = variant.get("properties")?.as_object()?;
    let (name, field) = properties
        .iter()
        .find(|(_, field)| field.get("const").is_some())?;
    Some((name, field.get("const")?))
}

/// The name and the content of a variant that is an object with its name as the only key.
pub fn named_variant(variant: &Value) -> Option<(&str, &Value)> {
    let properties = variant.get("properties")?.as_object()?;
    let (name, content) = properties.iter().next()?;
    let is_only = properties.len() == 1 && required(variant) == [name.as_str()];
    let types = ["properties", "$ref", "items"];
    let is_type = types.iter().any(|key| content.get(key).is_some());
    (is_only && is_type).then_some((name, content))
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// A name and what its schema says of it.
fn named(name: &str, schema: &Value) -> String {
    match schema.get("description").and_then(Value::as_str) {
        Some(doc) => format!("{name}: {}", prose(doc)),
        None => name.to_owned(),
    }
}
