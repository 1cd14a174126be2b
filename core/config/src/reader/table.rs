//! A table of a pipeline file: its keys, each with its documentation, its default, its schema and what reads it.

use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::duration;
use super::error::Findings;
use super::keywords::Keyword;
use super::source::Span;
use super::syntax::in_file_order;
use super::values::unknown;

/// A table, whose values are read into a `T`.
pub(crate) struct Table<'a, 't, T> {
    /// What its keys begin with in the documents.
    pub prefix: &'static str,
    pub keys: Vec<Key<'a, 't, T>>,
}

/// A key of a table.
pub(crate) struct Key<'a, 't, T> {
    pub row: Row,
    /// Reads its value. A value that can't be used is reported, and the default stays.
    pub(super) read: fn(&mut T, &Entry<'a, 't>, &mut Findings),
}

/// The documentation of a key.
pub(crate) struct Row {
    pub name: &'static str,
    /// What it does, in sentences.
    pub doc: &'static str,
    pub default: DefaultValue,
    /// The schema of its value, without a description and a default.
    pub schema: fn() -> Value,
}

/// What holds if a key is not given.
pub(crate) enum DefaultValue {
    /// It must be given.
    Required,
    /// A value. In pipeline files its notation is that of JSON.
    Value(Value),
    /// Something else, in words.
    Words(&'static str),
}

/// A key that is given, with its value.
pub(crate) struct Entry<'a, 't> {
    pub name: &'static str,
    /// The span of the key.
    pub span: Span,
    pub value: &'a Spanned<DeValue<'t>>,
}

impl<'a, 't, T> Table<'a, 't, T> {
    /// The names of its keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.rows().map(|row| row.name).collect()
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.keys.iter().map(|key| &key.row)
    }

    /// An example of the table as a value: with its defaults.
    pub fn example(&self, name: &str) -> String {
        let entries = self.rows().filter_map(|row| match &row.default {
            DefaultValue::Value(value) => Some(format!("{} = {value}", row.name)),
            _ => None,
        });
        format!("{name} = {{ {} }}", entries.collect::<Vec<_>>().join(", "))
    }

    /// Reads all entries. `place` is the name of the table in errors.
    pub(super) fn read(
        &self,
        target: &mut T,
        place: &str,
        entries: &'a DeTable<'t>,
        findings: &mut Findings,
    ) {
        for (name, span, value) in in_file_order(entries) {
            let Some(Key { row, read }) = self.keys.iter().find(|key| key.row.name == name) else {
                unknown(name, &span, place, &self.names(), findings);
                continue;
            };
            let name = row.name;
            read(target, &Entry { name, span, value }, findings);
        }
    }

    /// The JSON Schema of the table.
    pub fn schema(&self) -> Value {
        let rows = self.rows();
        let properties: Map<String, Value> = rows
            .clone()
            .map(|row| (row.name.to_owned(), row.described()))
            .collect();
        let required = rows.filter(|row| matches!(row.default, DefaultValue::Required));
        let required: Vec<_> = required.map(|row| row.name).collect();
        let mut schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

impl Row {
    fn described(&self) -> Value {
        let mut schema = (self.schema)();
        let mut doc = self.doc.to_owned();
        match &self.default {
            DefaultValue::Required => {}
            DefaultValue::Value(value) => schema["default"] = value.clone(),
            DefaultValue::Words(words) => doc.push_str(&format!(" Default: {words}.")),
        }
        schema["description"] = json!(doc);
        schema
    }
}

impl DefaultValue {
    /// A keyword.
    pub fn keyword<T: Keyword>(word: T) -> Self {
        Self::Value(json!(word.word()))
    }

    /// A duration.
    pub fn time(time: std::time::Duration) -> Self {
        Self::Value(json!(duration::written(time)))
    }
}

/// Sets what was read, if it could be used.
pub(crate) fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// The schema of a text.
pub(crate) fn a_text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// The schema of a duration.
pub(crate) fn a_time() -> Value {
    json!({ "type": "string", "minLength": 1, "pattern": duration::PATTERN })
}

/// The schema of a keyword.
pub(crate) fn a_keyword<T: Keyword>() -> Value {
    let names: Vec<_> = T::VARIANTS.iter().map(|value| value.word()).collect();
    let docs: Vec<_> = T::VARIANTS.iter().map(|value| value.doc()).collect();
    json!({ "enum": names, "x-taplo": { "docs": { "enumValues": docs } } })
}
