//! The keywords of pipeline files: one place for reading, the JSON Schema and diagrams.

use strum::{EnumMessage, VariantArray};

use super::written::test::Allowed;
use crate::pipeline::{Isolation, OnError, OnStop, WhenFull};

/// An enumeration whose values have names in pipeline files: those of its variants, in kebab case.
pub trait Keyword: Copy + VariantArray + EnumMessage + Into<&'static str> {
    /// The name in pipeline files.
    fn word(self) -> &'static str {
        self.into()
    }

    /// What it does, for people: the documentation of the variant.
    fn doc(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }

    /// The value of that name.
    fn from_word(word: &str) -> Option<Self> {
        Self::VARIANTS
            .iter()
            .copied()
            .find(|value| value.word() == word)
    }
}

impl Keyword for WhenFull {}
impl Keyword for OnError {}
impl Keyword for Isolation {}
impl Keyword for OnStop {}
impl Keyword for Allowed {}
