//! How the program ends: one place that turns what happened into an exit code.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use flowpipe_engine::run::StartError;
use flowpipe_terminal::{escape, escape_indented, stderr, stdout};
use thiserror::Error;

use crate::args::Args;
use crate::nearby;
use crate::show::{colour, log};

/// How a command ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Done.
    Done,
    /// A stage failed; the report is printed already.
    StageFailed,
    /// A replay that differs from its recording or could not verify all of it, or two pipelines that differ; printed
    /// already.
    Differs,
    /// A test of a pipeline that failed; printed already.
    TestFailed,
    /// A problem that `flowpipe doctor` found; printed already.
    Problem,
    /// A puzzle without a solution; printed already.
    Unsolvable,
    /// A puzzle that was not solved in time or is not supported by the solver, or a picture or a recording without a
    /// readable board, a live run that ended by itself without a solved board or with fewer than it was to solve, or a recording on which neither of two
    /// pipelines emits a message; printed already.
    Unanswered,
    /// A puzzle or a picture that can't be read, or a puzzle that can't be written in the format asked
    /// for; printed already.
    BadPuzzle,
    /// A file among several that can't be opened; printed already.
    Unopened,
    /// A pipeline file that can't be used; printed already.
    BadConfig,
    /// Stopped by Ctrl-C.
    Interrupted,
}

impl Ended {
    /// The worse of two. In order: a plugin's failure, a file that can't be opened, a puzzle that can't be read, one
    /// without an answer, one without a solution.
    pub fn or_worse(self, other: Self) -> Self {
        let weight = |ended| match ended {
            Self::Done => 0,
            Self::Unsolvable => 1,
            Self::Differs | Self::Problem | Self::TestFailed => 1,
            Self::Unanswered => 2,
            Self::BadPuzzle => 3,
            Self::Unopened => 4,
            Self::BadConfig => 5,
            Self::StageFailed => 6,
            Self::Interrupted => 7,
        };
        if weight(other) > weight(self) {
            other
        } else {
            self
        }
    }
}

/// The exit code of a program that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// The error of a command.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line is well-formed, but its arguments contradict each other or name what does not exist.
    #[error("{0}")]
    Usage(String),
    /// A config that can't be used.
    #[error("{0}")]
    Config(String),
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A file of the wrong format.
    #[error("{0}")]
    BadText(String),
    /// The run could not start, or failed.
    #[error("{0}")]
    Run(String),
    /// Standard output.
    #[error("can't write: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The exit code of a program that ends so.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::File { .. } => 2,
            Self::BadText(_) => 65,
            Self::Config(_) => 78,
            Self::Run(_) | Self::Output(_) => 1,
        }
    }

    /// Prints it on standard error.
    pub fn show(&self) {
        let mut text = self.to_string();
        if let Self::File { path, error } = self
            && error.kind() == io::ErrorKind::NotFound
            && let Some(near) = nearby::similar(Path::new(path))
        {
            text += &format!("; did you mean {}?", near.display());
        }
        log::failure(&escape_indented(&text));
    }
}

/// A config that a plugin refuses is a bad config, whoever reported it. A plugin that lacks something else, such as the
/// display, is a stage that failed.
impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Plugin {
                is_bad_config: true,
                ..
            }
            | StartError::UnknownPlugin { .. }
            | StartError::Check(_)
            | StartError::Misfit { .. } => Self::Config(error.to_string()),
            StartError::Plugin { .. } | StartError::Thread(_) | StartError::Panicked => {
                Self::Run(error.to_string())
            }
        }
    }
}

/// Prints the help or the error of the command-line parser, and returns the exit code. The error may quote file names,
/// which are untrusted. `add_hint` adds what may have been meant.
pub fn usage(error: clap::Error, add_hint: impl FnOnce(&mut clap::Error)) -> ExitCode {
    let arguments = || std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    let escaped = || arguments().map(|it| escape(&it).into_owned());
    // The parser quotes arguments unescaped, so the arguments are escaped and parsed again.
    let mut error = match arguments().eq(escaped()) {
        true => error,
        false => Args::try_parse_from(escaped()).err().unwrap_or(error),
    };
    add_hint(&mut error);
    let (out, err) = colour::by_terminal();
    flowpipe_terminal::set_colours(out, err);
    let text = error.render();
    let colours = if error.use_stderr() { err } else { out };
    let text = match colours {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    if error.use_stderr() {
        // If standard error is closed, there is nowhere to report it.
        let _ = stderr().write_all(text.as_bytes());
    } else {
        let mut stdout = stdout();
        let written = stdout.write_all(text.as_bytes());
        if let Err(error) = written.and_then(|()| stdout.flush()) {
            return code(Err(Failure::Output(error)));
        }
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints the failure, if there is one, and returns the exit code.
pub fn code(ended: Result<Ended, Failure>) -> ExitCode {
    let code = match ended {
        Ok(Ended::Done) => 0,
        Ok(Ended::StageFailed | Ended::Differs | Ended::Problem | Ended::TestFailed) => 1,
        Ok(Ended::Unopened) => 2,
        Ok(Ended::Unsolvable) => 3,
        Ok(Ended::Unanswered) => 4,
        Ok(Ended::BadPuzzle) => 65,
        Ok(Ended::BadConfig) => 78,
        Ok(Ended::Interrupted) => INTERRUPTED as u8,
        // The reader has closed the pipe (`flowpipe … | head`): no error.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(failure) => {
            failure.show();
            failure.exit_code()
        }
    };
    ExitCode::from(code)
}
