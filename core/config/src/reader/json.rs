//! TOML values as JSON values, and spans of values in the JSON.

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Findings;
use super::problem::Problem;
use super::source::Span;

/// The value as JSON; dates and times become strings. A value without a JSON form is reported and becomes null.
pub(super) fn from_toml(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Value {
    let number = match value.get_ref() {
        DeValue::String(text) => return Value::String(text.clone().into_owned()),
        DeValue::Boolean(truth) => return Value::Bool(*truth),
        DeValue::Datetime(time) => return Value::String(time.to_string()),
        DeValue::Array(items) => {
            return items.iter().map(|item| from_toml(item, findings)).collect();
        }
        DeValue::Table(table) => return Value::Object(from_table(table, findings)),
        DeValue::Integer(integer) => {
            let (digits, radix) = (integer.as_str(), integer.radix());
            let signed = i64::from_str_radix(digits, radix).map(Number::from);
            signed
                .or_else(|_| u64::from_str_radix(digits, radix).map(Number::from))
                .ok()
        }
        DeValue::Float(float) => float.as_str().parse().ok().and_then(Number::from_f64),
    };
    let Some(number) = number else {
        let text = findings.file().slice(&value.span()).to_owned();
        findings.report(&value.span(), Problem::NotJson { text });
        return Value::Null;
    };
    Value::Number(number)
}

fn from_table(table: &DeTable<'_>, findings: &mut Findings) -> Map<String, Value> {
    let entries = table.iter();
    entries
        .map(|(key, value)| {
            (
                key.get_ref().clone().into_owned(),
                from_toml(value, findings),
            )
        })
        .collect()
}

/// The position of one value of a config in the file.
#[derive(Clone)]
pub(super) struct Place<'a, 't> {
    /// The value; `None` if the file does not have it.
    pub value: Option<&'a DeValue<'t>>,
    /// The value's span, or its key's when the value is a table without braces.
    pub span: Span,
}

impl<'a, 't> Place<'a, 't> {
    pub(super) fn of(value: &'a Spanned<DeValue<'t>>) -> Self {
        Self {
            value: Some(value.get_ref()),
            span: value.span(),
        }
    }

    /// The element or member of that name; itself when there is none.
    pub(super) fn step(self, segment: &str) -> Self {
        let next = match self.value {
            Some(DeValue::Array(items)) => segment
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index)),
            Some(DeValue::Table(table)) => entry(table, segment).map(|(_, value)| value),
            _ => None,
        };
        next.map_or(self, Self::of)
    }

    /// The span of a member's key; its own when there is none.
    pub(super) fn key(&self, name: &str) -> Span {
        match self.value {
            Some(DeValue::Table(table)) => entry(table, name).map(|(span, _)| span),
            _ => None,
        }
        .unwrap_or_else(|| self.span.clone())
    }
}

fn entry<'a, 't>(table: &'a DeTable<'t>, name: &str) -> Option<(Span, &'a Spanned<DeValue<'t>>)> {
    table
        .get_key_value(name)
        .map(|(key, value)| (key.span(), value))
}
