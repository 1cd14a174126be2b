//! The errors of a command.

use std::io;
use std::process::ExitStatus;

use flowpipe_process::ending::INSTEAD_OF_AN_ANSWER;
use thiserror::Error;

/// Why there is no answer. Each message states the cause and the remedy; the command's name precedes it.
#[derive(Debug, Error)]
pub enum CommandError {
    /// `command` is empty.
    #[error(
        "`command` is empty: name the program first, then its arguments, such as [\"python3\", \"solver.py\"]"
    )]
    NoCommand,
    /// The folder to work in is not there.
    #[error("there is no folder {0:?} to start it in: see `directory`")]
    NoFolder(String),
    /// No such program.
    #[error(
        "there is no such program; one without a slash in its name is searched in PATH, and a relative one starts at {0}"
    )]
    NotFound(String),
    /// No right to run it.
    #[error(
        "it may not be executed: make it executable (chmod +x), or name its interpreter first, such as [\"python3\", \"solver.py\"]"
    )]
    NotExecutable,
    /// Any other error of the system.
    #[error("it can't be started: {0}")]
    Start(io::Error),
    /// It ended.
    #[error("it ended ({}) {}{}", ending(*.status), INSTEAD_OF_AN_ANSWER, stderr_note(.stderr))]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// The last line that it wrote to standard error.
        stderr: String,
    },
    /// It closed its output and still runs.
    #[error("it closed its standard output, where its answers belong{}", stderr_note(.0))]
    OutputClosed(String),
    /// A line that is not a JSON object.
    #[error(
        "it wrote {0:?}, which is no JSON object: standard output is for answers alone, one object a line; write all else to standard error"
    )]
    NotJson(String),
    /// A line without an end.
    #[error("it wrote a line of more than {} MB", .0 >> 20)]
    TooLong(usize),
    /// An answer to another message.
    #[error(
        "it answered with \"id\": {answered} to the message {asked}: give each message's \"id\" back, and one answer to each"
    )]
    WrongId {
        /// The number of the message.
        asked: u64,
        /// The number in the answer.
        answered: String,
    },
    /// An answer of the wrong form.
    #[error("its answer can't be read: {0}")]
    Malformed(serde_json::Error),
    /// Its input queue is full.
    #[error("it does not read its standard input, where its messages come")]
    InputBlocked,
    /// Not ready in time.
    #[error("it did not answer its first message, the one with \"protocol\", within {limit} ms, and was killed: raise `start_ms` if it needs longer to start, and let it flush its standard output after each answer{}", stderr_note(.stderr))]
    StartTimeout {
        /// Milliseconds.
        limit: u64,
        /// The last line that it wrote to standard error.
        stderr: String,
    },
    /// Not in time.
    #[error("it gave no answer within {0} ms (`timeout_ms`), and was killed")]
    Timeout(u64),
    /// It reports an error of its own.
    #[error("{0}")]
    Reported(String),
    /// It answers its first message with an error.
    #[error("it failed to start: {0}")]
    StartRefused(String),
    /// The call is cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl CommandError {
    /// Whether the config has to be changed: it names what can't be started, or the command refuses its settings.
    pub fn is_of_config(&self) -> bool {
        matches!(
            self,
            Self::NoCommand
                | Self::NoFolder(_)
                | Self::NotFound(_)
                | Self::NotExecutable
                | Self::StartRefused(_)
        )
    }

    /// Whether the command can continue: only its answer is an error.
    pub fn leaves_it_running(&self) -> bool {
        matches!(self, Self::Reported(_) | Self::Malformed(_))
    }
}

fn stderr_note(line: &str) -> String {
    match line {
        "" => String::new(),
        line => format!("; the last that it wrote to standard error: {line}"),
    }
}

/// An exit status, as text.
pub fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    }
}
