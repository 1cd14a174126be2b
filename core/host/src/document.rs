//! A JSON text, parsed on first access.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::c_char;
use std::fmt;
use std::sync::{Arc, OnceLock};

use flowpipe_abi as abi;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

/// The body of a message or the config of a stage: valid JSON, kept as written.
pub struct Document {
    /// UTF-8, with a NUL behind it for readers in C.
    text: Cow<'static, [u8]>,
    parsed: OnceLock<Value>,
    /// The text as the first type that it was read as.
    typed: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// Why bytes are not a document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not text.
    #[error("not UTF-8 text: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// Text, but not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Document {
    /// Copies and checks a JSON text; no bytes mean `{}`.
    ///
    /// # Errors
    /// When it is not valid JSON in UTF-8.
    pub fn new(json: &[u8]) -> Result<Self, DocumentError> {
        let document = Self::unchecked(json)?;
        document.check()?;
        Ok(document)
    }

    /// Copies a text, as [`Document::new`] does, without checking that it is JSON. Call [`Document::check`] before
    /// anybody relies on that.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn unchecked(text: &[u8]) -> Result<Self, DocumentError> {
        if text.is_empty() || text == b"{}" {
            return Ok(Self::empty());
        }
        // Skipping over JSON does not validate the text inside strings: that is checked first.
        std::str::from_utf8(text)?;
        Ok(Self::copied(text))
    }

    /// Checks that the text is JSON. A text that was read as a type is.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self) -> Result<(), DocumentError> {
        if !self.is_read() {
            serde_json::from_str::<IgnoredAny>(self.json())?;
        }
        Ok(())
    }

    /// `{}`.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Cow::Borrowed(b"{}\0"))
    }

    /// The text, without the NUL.
    #[must_use]
    pub fn json(&self) -> &str {
        let bytes = self.text.get(..self.json_len()).unwrap_or_default();
        // Checked at creation, so the fallback never shows.
        std::str::from_utf8(bytes).unwrap_or("{}")
    }

    /// The parsed value. `null` for the few texts that are JSON by its grammar and still beyond
    /// this parser: numbers past what a double holds, nesting past 127 levels.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.parsed
            .get_or_init(|| serde_json::from_str(self.json()).unwrap_or_default())
    }

    /// The text as a type. The first type is kept: what validates a message and what shows it parse it once.
    ///
    /// # Errors
    /// When the text is not of this type.
    pub fn read<T: DeserializeOwned + Send + Sync + 'static>(&self) -> serde_json::Result<Arc<T>> {
        let kept = self.typed.get().cloned();
        if let Some(Ok(kept)) = kept.map(Arc::downcast) {
            return Ok(kept);
        }
        let read = Arc::new(serde_json::from_str::<T>(self.json())?);
        // Another type was first, or another thread: then this one is not kept.
        let _ = self.typed.set(read.clone());
        Ok(read)
    }

    /// Whether [`Document::read`] keeps a value.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.typed.get().is_some()
    }

    /// The value at a JSON Pointer (RFC 6901).
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.value().pointer(pointer)
    }

    /// The pointer for the ABI.
    pub fn as_abi(&self) -> *const abi::Document {
        std::ptr::from_ref(self).cast()
    }

    /// The text for readers in C: NUL-terminated.
    pub fn as_c(&self) -> *const c_char {
        self.text.as_ptr().cast()
    }

    /// Bytes of the text, without the NUL.
    #[must_use]
    pub fn json_len(&self) -> usize {
        self.text.len() - 1
    }

    /// Wraps a JSON text that was checked before.
    #[cfg(unix)]
    pub fn known(mut json: Vec<u8>) -> Self {
        json.push(0);
        Self::of(Cow::Owned(json))
    }

    fn copied(json: &[u8]) -> Self {
        let mut text = Vec::with_capacity(json.len() + 1);
        text.extend_from_slice(json);
        text.push(0);
        Self::of(Cow::Owned(text))
    }

    fn of(text: Cow<'static, [u8]>) -> Self {
        Self {
            text,
            parsed: OnceLock::new(),
            typed: OnceLock::new(),
        }
    }
}

impl Clone for Document {
    /// The text: what it was parsed as is not copied.
    fn clone(&self) -> Self {
        Self::of(self.text.clone())
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Document")
            .field(&self.json())
            .finish()
    }
}

impl From<&Value> for Document {
    fn from(value: &Value) -> Self {
        Self::copied(value.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_text_as_written() {
        let document = Document::new(br#"{"b": 1,  "a":[2]}"#).unwrap();
        assert_eq!(document.json(), r#"{"b": 1,  "a":[2]}"#);
        assert_eq!(document.at("/a/0").unwrap(), 2);
        assert_eq!(document.text.last(), Some(&0));
    }

    #[test]
    fn nothing_is_an_empty_object() {
        assert_eq!(Document::new(b"").unwrap().json(), "{}");
        assert!(Document::new(b"{}").unwrap().value().is_object());
    }

    #[test]
    fn refuses_what_is_not_json() {
        for bad in [
            &b"{"[..],
            b"{} x",
            b"nul",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\n\"}",
            b" ",
            b"{}\0",
        ] {
            assert!(Document::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_first_type_that_it_is_read_as_is_kept() {
        let document = Document::new(b"[1, 2]").unwrap();
        assert!(document.read::<String>().is_err() && !document.is_read());
        let first: Arc<Vec<u8>> = document.read().unwrap();
        assert!(Arc::ptr_eq(&first, &document.read().unwrap()) && document.is_read());
        let other: Arc<(f64, f64)> = document.read().unwrap();
        assert_eq!(*other, (1.0, 2.0));
        assert!(Arc::ptr_eq(&first, &document.read().unwrap()));
    }

    #[test]
    fn beyond_the_parser_is_null() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        for odd in [deep.as_str(), "1e999"] {
            assert!(Document::new(odd.as_bytes()).unwrap().value().is_null());
        }
    }
}
