//! The lines from a child to its parent: JSON Lines, on a pipe that the plugin does not know.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use flowpipe_config::manifest::Manifest;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckLine {
    /// The current action, reported if it crashes or hangs there.
    Doing(String),
    /// A finding.
    Found(Grade, String),
    /// The file has this stage.
    Stage(Box<Manifest>),
    /// The file can't be used.
    Refused(String),
    /// The check has ended; nothing follows.
    Done,
}

/// The grade of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// There was nothing to check.
    Skipped,
    /// Correct.
    Passed,
    /// It works, but could be better.
    Warned,
    /// Wrong.
    Failed,
}

/// The exit code of a child that can't report, because the plugin has closed its pipe.
pub const PIPE_CLOSED: i32 = 74;

/// Reports to the parent, from any thread of a child.
pub struct Reporter(Mutex<Box<dyn Write + Send>>);

impl Reporter {
    /// Moves standard output away before the plugin is loaded: the output of the plugin goes to standard error.
    ///
    /// # Errors
    /// The error of the system.
    #[cfg(unix)]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is not the program's output: the parent process reads it"
    )]
    pub fn new() -> io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Self(Mutex::new(Box::new(std::fs::File::from(own)))))
    }

    #[cfg(not(unix))]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is not the program's output: the parent process reads it"
    )]
    pub fn new() -> io::Result<Self> {
        Ok(Self(Mutex::new(Box::new(io::stdout()))))
    }

    /// Reports the current action.
    pub fn doing(&self, what: impl Into<String>) {
        self.line(&CheckLine::Doing(shortened(what)));
    }

    /// Reports a passed check.
    pub fn pass(&self, text: impl Into<String>) {
        self.line(&CheckLine::Found(Grade::Passed, shortened(text)));
    }

    /// Reports a warning.
    pub fn warn(&self, text: impl Into<String>) {
        self.line(&CheckLine::Found(Grade::Warned, shortened(text)));
    }

    /// Reports a failure.
    pub fn fail(&self, text: impl Into<String>) {
        self.line(&CheckLine::Found(Grade::Failed, shortened(text)));
    }

    /// Reports a skipped check.
    pub fn skip(&self, text: impl Into<String>) {
        self.line(&CheckLine::Found(Grade::Skipped, shortened(text)));
    }

    /// Reports that the file can't be used.
    pub fn refuse(&self, reason: impl Into<String>) {
        self.line(&CheckLine::Refused(shortened(reason)));
    }

    /// Writes a line.
    pub fn line(&self, line: &CheckLine) {
        let mut text = serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush()) {
            Ok(()) => {}
            // The parent is gone.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(_) => std::process::exit(PIPE_CLOSED),
        }
    }
}

/// Truncates a text of a plugin.
fn shortened(text: impl Into<String>) -> String {
    const LONGEST: usize = 16 << 10;
    let mut text = text.into();
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}
