//! Names, which many entries share.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A name of a stage, an output or similar. Copies share their memory, and so do equal names of a recording.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Arc<str>);

/// A longer name, in bytes, is damaged: pipelines name stages in at most 128 bytes, and plugins their outputs in 64.
const LONGEST_NAME: usize = 1 << 10;

/// The memory of a name besides its bytes: its reference counts, and the allocator's overhead.
pub(crate) const NAME: usize = 32;

impl Name {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The names of one recording.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<Name>);

impl Names {
    /// Makes a name share its memory with an equal one. Returns how many more bytes of memory are used.
    pub(crate) fn share(&mut self, name: &mut Name) -> usize {
        if let Some(known) = self.0.get(name.as_str()) {
            *name = known.clone();
            return 0;
        }
        self.0.insert(name.clone());
        // Its place in the set, which may be half empty.
        NAME + name.len() + 2 * size_of::<Name>()
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        match Arc::ptr_eq(&self.0, &other.0) {
            true => Ordering::Equal,
            false => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Name {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        Self(text.as_str().into())
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl From<&Name> for String {
    fn from(name: &Name) -> Self {
        name.as_str().to_owned()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().to_owned()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        *self.0 == **other
    }
}

impl PartialEq<Name> for str {
    fn eq(&self, other: &Name) -> bool {
        *self == *other.0
    }
}

impl PartialEq<Name> for &str {
    fn eq(&self, other: &Name) -> bool {
        **self == *other.0
    }
}

impl PartialEq<Name> for String {
    fn eq(&self, other: &Name) -> bool {
        **self == *other.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name, E> {
                match text.len() {
                    ..=LONGEST_NAME => Ok(text.into()),
                    length => Err(E::custom(format_args!(
                        "a name of {length} bytes, where {LONGEST_NAME} can be read"
                    ))),
                }
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_their_memory() {
        let mut names = Names::default();
        let (mut one, mut other) = (Name::from("vision"), Name::from("vision"));
        assert!(names.share(&mut one) > 6);
        assert_eq!(names.share(&mut other), 0);
        assert!(Arc::ptr_eq(&one.0, &other.0));
    }

    #[test]
    fn a_name_has_a_longest_length() {
        let json = |length: usize| format!("\"{}\"", "n".repeat(length));
        assert!(serde_json::from_str::<Name>(&json(LONGEST_NAME)).is_ok());
        let long = serde_json::from_str::<Name>(&json(LONGEST_NAME + 1)).unwrap_err();
        assert!(long.to_string().contains("a name of 1025 bytes"), "{long}");
    }

    #[test]
    fn a_name_is_a_string() {
        let name = Name::from("a\"b");
        let json = serde_json::to_string(&name).unwrap();
        assert_eq!(json, r#""a\"b""#);
        assert_eq!(serde_json::from_str::<Name>(&json).unwrap(), name);
        assert!(serde_json::from_str::<Name>("1").is_err());
        let schema = schemars::schema_for!(Name);
        assert_eq!(schema.get("type"), Some(&"string".into()));
    }
}
