//! The JSON Schema of a plugin's config.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON Schema of a plugin's config. It is most of a manifest, and most programs use the schemas of few of the
/// plugins that they find: it is parsed when it is first used.
#[derive(Clone, Default)]
pub struct SchemaText {
    text: Option<Box<RawValue>>,
    value: OnceLock<Value>,
}

impl SchemaText {
    /// Parses it.
    ///
    /// # Errors
    /// When it is nested too deep.
    pub fn parse(&self) -> Result<&Value, serde_json::Error> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = match &self.text {
            Some(text) => serde_json::from_str(text.get())?,
            None => any_object(),
        };
        Ok(self.value.get_or_init(|| value))
    }
}

impl Deref for SchemaText {
    type Target = Value;

    /// The schema; that of any object where it can't be parsed, which [`super::read_manifest`] refuses.
    fn deref(&self) -> &Value {
        match self.parse() {
            Ok(value) => value,
            Err(_) => self.value.get_or_init(any_object),
        }
    }
}

impl From<Value> for SchemaText {
    fn from(value: Value) -> Self {
        Self {
            text: None,
            value: OnceLock::from(value),
        }
    }
}

impl<'de> Deserialize<'de> for SchemaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self {
            text: Some(Box::deserialize(deserializer)?),
            value: OnceLock::new(),
        })
    }
}

impl Serialize for SchemaText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl PartialEq for SchemaText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for SchemaText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_from_text_and_from_a_value() {
        let value =
            serde_json::json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let read: SchemaText = serde_json::from_str(&value.to_string()).unwrap();
        let converted: SchemaText = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(*read, value);
        assert_eq!(read, converted);
        assert_eq!(read, SchemaText::from(value.clone()));
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        assert_eq!(*SchemaText::default(), any_object());
    }

    #[test]
    fn text_that_is_nested_too_deep_is_no_schema() {
        let text = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let read: SchemaText = serde_json::from_str(&text).unwrap();
        assert!(read.parse().is_err());
        assert_eq!(*read, any_object());
    }
}
