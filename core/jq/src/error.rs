//! Why an expression can't be compiled, or fails on a message.

use thiserror::Error;

/// Why an expression can't be compiled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompileError {
    /// It is not jq.
    #[error("line {line}, column {column}: {reason}")]
    At {
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// Too long.
    #[error("it has more than {0} bytes")]
    TooLong(usize),
    /// Too deep.
    #[error("its parts are nested more than {0} levels deep")]
    TooDeep(usize),
    /// The system has no thread for it.
    #[error("it can't be compiled: {0}")]
    NoThread(String),
}

/// Why an expression fails on a message.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// It failed by itself.
    #[error("the expression failed: {0}")]
    Failed(String),
    /// The message has too many levels or values, or a number too many digits.
    #[error("the message {0}")]
    Message(&'static str),
    /// An output is no JSON.
    #[error("an output of the expression {0}")]
    Output(&'static str),
    /// There are too many outputs.
    #[error("the expression has more than {0} outputs (`max_outputs`)")]
    TooMany(usize),
    /// A limit is reached.
    #[error("the expression {0}")]
    Limit(Limit),
    /// The call is cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The system has no thread for it.
    #[error("the expression needs a thread of its own: {0}")]
    NoThread(String),
}

/// A limit of one message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Limit {
    /// Elements of arrays and streams.
    #[error("went through more than 1,000,000 elements")]
    Elements,
    /// Rounds of loops, and arrays and objects that it made.
    #[error("took more than 250,000 rounds")]
    Rounds,
    /// Calls within calls.
    #[error("called itself too deeply")]
    Depth,
    /// The size of a text, an array or a number.
    #[error(
        "made a text of more than 16 MiB, an array of more than 1,000,000 elements or a number of more than 64 KiB"
    )]
    Size,
}
