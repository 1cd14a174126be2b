//! The first step: parses TOML as far as possible.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Findings;
use super::problem::Problem;
use super::source::{SourceFile, Span};

/// Parses what is valid and reports every syntax error.
pub(super) fn parse<'t>(text: &'t str, findings: &mut Findings) -> DeTable<'t> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let root = root.into_inner();
    let mut unclosed = Vec::new();
    let mut others = Vec::new();
    let mut damages = Vec::new();
    for error in errors.iter().take(MAX_ERRORS) {
        let span = findings.file().fit(&error.span().unwrap_or(0..0));
        if let Some(opened) = opened(&root, error.message(), &span, findings.file()) {
            damages.push(Damage::Structure(vec![opened.clone()]));
            unclosed.push(opened);
        } else {
            damages.push(damage(&root, error.message(), &span, findings.file()));
            others.push((span, error.message().to_owned()));
        }
    }
    if let Some(error) = errors.get(MAX_ERRORS) {
        let span = findings.file().fit(&error.span().unwrap_or(0..0));
        damages.push(Damage::Structure(
            std::iter::once(span.start..usize::MAX).collect(),
        ));
        others.push((
            span,
            format!("{} more syntax errors follow", errors.len() - MAX_ERRORS),
        ));
    }
    unclosed.sort_by_key(|span| span.start);
    unclosed.dedup();
    for value in &unclosed {
        let text = findings.file().slice(value);
        let quotes = QUOTES.iter().any(|quotes| text.starts_with(quotes));
        let opening = value.start..value.start + if quotes { 3 } else { 1 };
        let message = format!("this `{}` is never closed", findings.file().slice(&opening));
        findings.report(
            &opening,
            Problem::Syntax {
                message,
                hint: None,
            },
        );
    }
    for (span, message) in others {
        // Errors inside an unclosed value are consequences of it.
        let first_line =
            |value: &Span| findings.file().whole_lines(&(value.start..value.start)).end;
        let swallows = |value: &Span| span.start >= first_line(value) && span.end <= value.end;
        if !unclosed.iter().any(swallows) {
            let problem = describe(&message, findings.file().slice(&span));
            findings.report(&span, problem);
        }
    }
    for damage in damages {
        match damage {
            Damage::None => {}
            Damage::Value(span) => findings.mark_unreadable(span),
            Damage::Structure(spans) => {
                findings.mark_parts_lost();
                spans
                    .into_iter()
                    .for_each(|span| findings.mark_unreadable(span));
            }
        }
    }
    root
}

/// The most syntax errors that are examined: a file with more is hardly TOML, and each costs a pass over the whole
/// file.
const MAX_ERRORS: usize = 20;

const DUPLICATE: &str = "duplicate key";
const QUOTES: [&str; 2] = ["\"\"\"", "'''"];
const UNQUOTED: &str = "string values must be quoted";

fn describe(message: &str, found: &str) -> Problem {
    let (message, hint) = match message {
        m if m.starts_with(DUPLICATE) => {
            return Problem::DuplicateKey {
                key: found.trim_matches(['"', '\'']).to_owned(),
            };
        }
        m if m.starts_with(UNQUOTED) && found.is_empty() => ("a value is missing", None),
        m if m.starts_with(UNQUOTED) => (
            "a string must be in quotes",
            Some(format!("write {found:?}")),
        ),
        m if m.starts_with("invalid") && m.ends_with("string, expected `\"`")
            || m.ends_with("string, expected `'`") =>
        {
            ("a closing quote is missing", None)
        }
        m => (m, None),
    };
    Problem::Syntax {
        message: message.to_owned(),
        hint,
    }
}

/// The part of a file that a syntax error makes unreliable.
enum Damage {
    /// Nothing: it was read as meant.
    None,
    /// One value.
    Value(Span),
    /// These spans, and parts of the file may be lost.
    Structure(Vec<Span>),
}

fn damage(root: &DeTable<'_>, message: &str, error: &Span, file: &SourceFile) -> Damage {
    if message.starts_with(DUPLICATE) || message.starts_with(UNQUOTED) && !error.is_empty() {
        return Damage::None;
    }
    let one_line = |span: &Span| !file.slice(span).contains('\n');
    let local = message.starts_with("invalid") || message.starts_with(UNQUOTED);
    if let Some(value) = scalar(root, error).filter(|value| local && one_line(value)) {
        return Damage::Value(value);
    }
    let mut lines = file.whole_lines(error);
    // Entries below an unreadable header belong to an unknown table.
    if file.slice(&lines).trim_start().starts_with('[') {
        lines.end = file.next_header(lines.end);
    }
    Damage::Structure(
        std::iter::once(lines)
            .chain(outermost(root, error))
            .collect(),
    )
}

/// The span from an unclosed bracket or quote to the error.
fn opened(root: &DeTable<'_>, message: &str, error: &Span, file: &SourceFile) -> Option<Span> {
    let opening: &[&str] = match message {
        m if m.starts_with("unclosed inline table") => &["{"],
        m if m.starts_with("unclosed array") => &["["],
        m if m.starts_with("invalid multi-line") => &QUOTES,
        _ => return None,
    };
    let opens = |value: &Spanned<DeValue<'_>>| {
        let text = file.slice(&value.span());
        // A table's header starts with a bracket too.
        let header = value.get_ref().is_table() && text.starts_with('[');
        !header && opening.iter().any(|opening| text.starts_with(opening))
    };
    let around = find(root, &|value| opens(value) && contains(value, error));
    // The error may be outside of an unclosed inline table.
    let before = || {
        find(root, &|value| {
            let closed = file.slice(&value.span()).ends_with('}');
            opens(value) && !closed && value.span().start <= error.start
        })
    };
    around
        .or_else(before)
        .map(|value| value.start..value.end.max(error.end))
}

/// The outermost value that contains an error, also at its end.
fn outermost(table: &DeTable<'_>, error: &Span) -> Option<Span> {
    find(table, &|value| contains(value, error))
}

/// The string, number, boolean or date that contains an error.
fn scalar(table: &DeTable<'_>, error: &Span) -> Option<Span> {
    let is_scalar = |value: &DeValue<'_>| !matches!(value, DeValue::Table(_) | DeValue::Array(_));
    find(table, &|value| {
        is_scalar(value.get_ref()) && contains(value, error)
    })
}

fn contains(value: &Spanned<DeValue<'_>>, error: &Span) -> bool {
    value.span().start <= error.start && error.end <= value.span().end
}

/// The first value that matches, outer values before inner ones.
fn find(table: &DeTable<'_>, question: &dyn Fn(&Spanned<DeValue<'_>>) -> bool) -> Option<Span> {
    table.values().find_map(|value| find_in(value, question))
}

fn find_in(
    value: &Spanned<DeValue<'_>>,
    question: &dyn Fn(&Spanned<DeValue<'_>>) -> bool,
) -> Option<Span> {
    if question(value) {
        return Some(value.span());
    }
    match value.get_ref() {
        DeValue::Table(table) => find(table, question),
        DeValue::Array(items) => items.iter().find_map(|item| find_in(item, question)),
        _ => None,
    }
}

/// The entries of a table in the order of the file.
pub(super) fn in_file_order<'a, 't>(
    table: &'a DeTable<'t>,
) -> Vec<(&'a str, Span, &'a Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
        .collect();
    entries.sort_by_key(|(_, span, _)| span.start);
    entries
}

/// The kind of a value, with its article.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
