//! Errors in a pipeline file, with their positions.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, SourceCode};
use serde::Serialize;

use super::origin::Origin;
use super::problem::Problem;
use super::source::{Position, SourceFile, Span, visible};

/// One error in a pipeline file.
///
/// Its `Display` is one line, `file:line:column: message`, or `flag: message` for a [`Setting`](super::Setting). As a
/// [`Diagnostic`] it also shows the line, a caret and the help.
#[derive(Clone, Debug)]
pub struct ConfigError {
    problem: Problem,
    file: Arc<SourceFile>,
    span: Span,
    related: Vec<(Span, String)>,
    /// How the value was given that is wrong, if it is none of the file.
    flag: Option<String>,
}

/// A [`ConfigError`] for machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorRecord {
    /// The file's name as it was given to [`super::read`], or the [`Setting`](super::Setting) that is wrong.
    pub file: String,
    /// From 1. A setting has one line.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl ConfigError {
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The bytes of the error: inside the file and at character boundaries, perhaps none.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// The position of its start.
    #[must_use]
    pub fn position(&self) -> Position {
        self.file.position(self.span.start)
    }

    /// The message, without the position.
    #[must_use]
    pub fn message(&self) -> String {
        visible(&self.problem.to_string())
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.problem.help().map(|help| visible(&help))
    }

    /// The record for machines.
    #[must_use]
    pub fn record(&self) -> ErrorRecord {
        let Position { line, column } = self.position();
        let file = self.flag.as_deref().unwrap_or(self.file.name()).to_owned();
        ErrorRecord {
            file,
            line,
            column,
            message: self.message(),
            help: self.help(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(flag) = &self.flag {
            return write!(f, "{}: {}", visible(flag), self.message());
        }
        let Position { line, column } = self.position();
        write!(
            f,
            "{}:{line}:{column}: {}",
            visible(self.file.name()),
            self.message()
        )
    }
}

impl std::error::Error for ConfigError {}

impl Diagnostic for ConfigError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        ConfigError::help(self).map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        if self.flag.is_some() {
            return None;
        }
        // The message has the position too.
        let mut spans = std::iter::once(&self.span).chain(self.related.iter().map(|it| &it.0));
        spans
            .all(|span| self.file.is_showable(span))
            .then_some(&*self.file as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.flag.is_some() {
            return None;
        }
        let primary = LabeledSpan::new_primary_with_span(None, self.span.clone());
        let related = self
            .related
            .iter()
            .map(|(span, label)| LabeledSpan::new_with_span(Some(visible(label)), span.clone()));
        Some(Box::new(std::iter::once(primary).chain(related)))
    }
}

/// The errors found so far.
pub(super) struct Findings {
    file: Arc<SourceFile>,
    errors: Vec<ConfigError>,
    /// Spans with broken syntax: errors inside them are not reported.
    unreadable: Vec<Span>,
    /// There may be more in the file than was read.
    parts_lost: bool,
    /// The parts that were not written in the file.
    origins: Vec<Origin>,
}

impl Findings {
    pub(super) fn new(file: SourceFile) -> Self {
        Self {
            file: Arc::new(file),
            errors: Vec::new(),
            unreadable: Vec::new(),
            parts_lost: false,
            origins: Vec::new(),
        }
    }

    /// Errors inside these parts name where the part was given.
    pub(super) fn with_origins(mut self, origins: Vec<Origin>) -> Self {
        self.origins = origins;
        self
    }

    pub(super) fn file(&self) -> &SourceFile {
        &self.file
    }

    pub(super) fn report(&mut self, span: &Span, problem: Problem) {
        self.report_with(span, problem, []);
    }

    /// Reports an error with related spans.
    pub(super) fn report_with(
        &mut self,
        span: &Span,
        problem: Problem,
        related: impl IntoIterator<Item = (Span, String)>,
    ) {
        let span = self.file.fit(span);
        let inside = |region: &Span| region.start <= span.start && span.end <= region.end;
        let may_be_unread = problem.is_absence() && self.parts_lost;
        if may_be_unread || self.unreadable.iter().any(inside) {
            return;
        }
        let related = related
            .into_iter()
            .map(|(span, label)| (self.file.fit(&span), label));
        let origin = self.origins.iter().find(|it| it.contains(&span));
        let error = ConfigError {
            problem,
            file: self.file.clone(),
            flag: origin.map(|it| it.flag.clone()),
            span,
            related: related.collect(),
        };
        self.errors.push(error);
    }

    /// Reports an error of a value that is none of the file. `flag`: how it was given.
    pub(super) fn report_setting(&mut self, flag: &str, problem: Problem) {
        if problem.is_absence() && self.parts_lost {
            return;
        }
        self.errors.push(ConfigError {
            problem,
            file: self.file.clone(),
            span: 0..0,
            related: Vec::new(),
            flag: Some(flag.to_owned()),
        });
    }

    /// Marks a span as unreadable: from now on nothing is reported inside it.
    pub(super) fn mark_unreadable(&mut self, span: Span) {
        self.unreadable.push(span);
    }

    /// Marks parts of the file as lost: from now on absences are not reported.
    pub(super) fn mark_parts_lost(&mut self) {
        self.parts_lost = true;
    }

    pub(super) fn count(&self) -> usize {
        self.errors.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// In the order of the file.
    pub(super) fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors
            .sort_by_key(|error| (error.span.start, error.span.end));
        self.errors
    }
}
