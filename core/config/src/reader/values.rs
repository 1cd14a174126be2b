//! Single values of a pipeline file. An invalid value is reported and becomes `None`.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Findings;
use super::keywords::Keyword;
use super::problem::{MAX_CAPACITY, MAX_RESTARTS, Problem};
use super::source::Span;
use super::syntax::kind;
use super::{duration, suggest};
use crate::pipeline::Stage;

/// The capacity of a queue.
pub(super) fn capacity(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<usize> {
    let DeValue::Integer(number) = value.get_ref() else {
        wrong_type("capacity", value, "an integer", None, findings);
        return None;
    };
    match usize::from_str_radix(number.as_str(), number.radix()) {
        Ok(capacity @ 1..=MAX_CAPACITY) => Some(capacity),
        _ => {
            let found = findings.file().slice(&value.span()).to_owned();
            findings.report(&value.span(), Problem::BadCapacity { found });
            None
        }
    }
}

/// The most restarts of a stage in a row.
pub(super) fn times(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<u32> {
    let DeValue::Integer(number) = value.get_ref() else {
        wrong_type("max", value, "an integer", None, findings);
        return None;
    };
    match u32::from_str_radix(number.as_str(), number.radix()) {
        Ok(times @ 1..=MAX_RESTARTS) => Some(times),
        _ => {
            let found = findings.file().slice(&value.span()).to_owned();
            findings.report(&value.span(), Problem::BadRestarts { found });
            None
        }
    }
}

/// The number of workers of a stage, with the span of the number.
pub(super) fn workers(
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<Spanned<usize>> {
    let DeValue::Integer(number) = value.get_ref() else {
        wrong_type("workers", value, "an integer", None, findings);
        return None;
    };
    match usize::from_str_radix(number.as_str(), number.radix()) {
        Ok(workers @ 1..=Stage::MAX_WORKERS) => Some(Spanned::new(value.span(), workers)),
        _ => {
            let found = findings.file().slice(&value.span()).to_owned();
            findings.report(&value.span(), Problem::BadWorkers { found });
            None
        }
    }
}

/// A duration.
pub(super) fn time(
    what: &'static str,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<Duration> {
    let DeValue::String(text) = value.get_ref() else {
        let number = matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_));
        let hint = number.then(|| "add a unit: \"2s\", \"250ms\", \"1m30s\"".to_owned());
        wrong_type(what, value, "a duration in quotes", hint, findings);
        return None;
    };
    duration::parse(text)
        .map_err(|reason| {
            let text = text.clone().into_owned();
            findings.report(&value.span(), Problem::BadDuration { text, reason });
        })
        .ok()
}

/// One of the keywords.
pub(super) fn word<T: Keyword>(
    what: &'static str,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<T> {
    let help = |written: &str| {
        let words: Vec<_> = T::VARIANTS.iter().map(|value| value.word()).collect();
        suggest::help(written, "it can be", &words)
    };
    let written = string(what, value, || help(""), findings)?.into_inner();
    let found = T::from_word(&written);
    if found.is_none() {
        let hint = help(&written);
        findings.report(
            &value.span(),
            Problem::BadWord {
                what,
                found: written,
                hint,
            },
        );
    }
    found
}

/// A string.
pub(super) fn text(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<Spanned<String>> {
    string(what, value, || None, findings)
}

/// A string; `hint` helps when it is none.
fn string(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    hint: impl FnOnce() -> Option<String>,
    findings: &mut Findings,
) -> Option<Spanned<String>> {
    if let DeValue::String(text) = value.get_ref() {
        return Some(Spanned::new(value.span(), text.clone().into_owned()));
    }
    wrong_type(what, value, "a string", hint(), findings);
    None
}

/// `true` or `false`.
pub(super) fn truth(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<bool> {
    if let DeValue::Boolean(truth) = value.get_ref() {
        return Some(*truth);
    }
    wrong_type(what, value, "true or false", None, findings);
    None
}

/// A table; `example` shows how to write it.
pub(super) fn table<'a, 't>(
    what: &str,
    value: &'a Spanned<DeValue<'t>>,
    example: &str,
    findings: &mut Findings,
) -> Option<&'a DeTable<'t>> {
    if let DeValue::Table(table) = value.get_ref() {
        return Some(table);
    }
    wrong_type(
        what,
        value,
        "a table",
        Some(format!("write {example}")),
        findings,
    );
    None
}

/// Reports a value of the wrong type.
pub(super) fn wrong_type(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &'static str,
    hint: Option<String>,
    findings: &mut Findings,
) {
    let found = kind(value.get_ref());
    let problem = Problem::WrongType {
        what: what.to_owned(),
        expected,
        found,
        hint,
    };
    findings.report(&value.span(), problem);
}

/// Reports a key that is unknown in this place.
pub(super) fn unknown(
    key: &str,
    span: &Span,
    place: &str,
    known: &[&str],
    findings: &mut Findings,
) {
    let hint = suggest::help(key, "known keys", known);
    let problem = Problem::UnknownKey {
        key: key.to_owned(),
        place: place.to_owned(),
        hint,
    };
    findings.report(span, problem);
}
