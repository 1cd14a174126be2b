//! What a child tells of its check, one JSON object a line on its standard output.

use std::io::Write as _;

use flowpipe_runtime::manifest::Manifest;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// What is being done: named when it crashes or hangs there.
    Doing(String),
    /// What was found.
    Found(Grade, String),
    /// The file has this stage.
    Stage(Box<Manifest>),
    /// The file can't be used.
    Refused(String),
}

/// How good what was found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// There was nothing to try.
    Skipped,
    /// As it should be.
    Passed,
    /// It works; somebody may still wish for better.
    Warned,
    /// It is wrong.
    Failed,
}

/// Tells, from within a child.
pub struct Teller;

impl Teller {
    /// Says what is being done.
    pub fn doing(&self, what: impl Into<String>) {
        self.line(&Line::Doing(what.into()));
    }

    /// Something is as it should be.
    pub fn pass(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Passed, text.into()));
    }

    /// Something works, but could be better.
    pub fn warn(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Warned, text.into()));
    }

    /// Something is wrong.
    pub fn fail(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Failed, text.into()));
    }

    /// There is nothing to try.
    pub fn skip(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Skipped, text.into()));
    }

    /// Writes a line.
    pub fn line(&self, line: &Line) {
        let text = serde_json::to_string(line).unwrap_or_default();
        // Gone only when the parent is: nobody is left to tell.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
