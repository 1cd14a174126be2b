//! What a child tells of its check, one JSON object a line, on a pipe that the plugin does not know of.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use flowpipe_config::manifest::Manifest;
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
    /// The check has come to its end; nothing follows.
    Done,
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

/// The exit code of a child that can't tell any more what it finds, because the plugin has closed its pipe.
pub const CUT_OFF: i32 = 74;

/// Tells, from within a child. Any thread may.
pub struct Teller(Mutex<Box<dyn Write + Send>>);

impl Teller {
    /// Takes standard output for itself, before the plugin is loaded: what the plugin prints goes to standard
    /// error from now on.
    ///
    /// # Errors
    /// What the system says.
    #[cfg(unix)]
    // No output of the program: its parent reads it.
    #[expect(clippy::disallowed_methods)]
    pub fn new() -> io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Self(Mutex::new(Box::new(std::fs::File::from(own)))))
    }

    #[cfg(not(unix))]
    // As above.
    #[expect(clippy::disallowed_methods)]
    pub fn new() -> io::Result<Self> {
        Ok(Self(Mutex::new(Box::new(io::stdout()))))
    }

    /// Says what is being done.
    pub fn doing(&self, what: impl Into<String>) {
        self.line(&Line::Doing(shortened(what)));
    }

    /// Something is as it should be.
    pub fn pass(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Passed, shortened(text)));
    }

    /// Something works, but could be better.
    pub fn warn(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Warned, shortened(text)));
    }

    /// Something is wrong.
    pub fn fail(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Failed, shortened(text)));
    }

    /// There is nothing to try.
    pub fn skip(&self, text: impl Into<String>) {
        self.line(&Line::Found(Grade::Skipped, shortened(text)));
    }

    /// The file can't be used.
    pub fn refuse(&self, reason: impl Into<String>) {
        self.line(&Line::Refused(shortened(reason)));
    }

    /// Writes a line.
    pub fn line(&self, line: &Line) {
        let mut text = serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush()) {
            Ok(()) => {}
            // Nobody is left to tell.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(_) => std::process::exit(CUT_OFF),
        }
    }
}

/// A plugin's own words may be as long as it likes; nobody reads so much.
fn shortened(text: impl Into<String>) -> String {
    const LONGEST: usize = 16 << 10;
    let mut text = text.into();
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}
