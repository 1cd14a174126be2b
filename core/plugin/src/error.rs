//! Why a stage failed.

use std::error::Error as StdError;
use std::fmt::{self, Debug, Display};

use flowpipe_abi as abi;

/// The result of the SDK's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure with its text and the status that crosses the ABI.
///
/// Any `std::error::Error` turns into one with `?`, its chain of sources included in the text. Like
/// other catch-all errors it does not implement that trait itself, which would forbid the conversion.
pub struct Error {
    status: abi::Status,
    text: String,
}

impl Error {
    /// A failure with this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            status: abi::ERROR,
            text: text.into(),
        }
    }

    /// The config can't be used. flowpipe exits with 78 for this, and with 1 for any other error of `new`.
    #[must_use]
    pub fn bad_config(text: impl Into<String>) -> Self {
        Self {
            status: abi::BAD_CONFIG,
            text: text.into(),
        }
    }

    /// A message can't be read.
    #[must_use]
    pub fn bad_message(text: impl Into<String>) -> Self {
        Self {
            status: abi::BAD_MESSAGE,
            text: text.into(),
        }
    }

    /// The work was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self {
            status: abi::CANCELLED,
            text: "cancelled".to_owned(),
        }
    }

    /// No stage receives this stage's output any more.
    #[must_use]
    pub fn stopped() -> Self {
        Self {
            status: abi::STOPPED,
            text: "no stage receives this any more".to_owned(),
        }
    }

    pub(crate) fn with_status(status: abi::Status, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
        }
    }

    /// The status that crosses the ABI, negative.
    #[must_use]
    pub fn status(&self) -> abi::Status {
        self.status
    }

    /// Prefixes the text with the failed action: "can't open x: no such file".
    #[must_use]
    pub fn context(mut self, doing: impl Display) -> Self {
        self.text = format!("{doing}: {}", self.text);
        self
    }
}

impl<E: StdError> From<E> for Error {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            let inner_text = inner.to_string();
            // Many errors repeat their source in their own text.
            if !text.contains(&inner_text) {
                text = format!("{text}: {inner_text}");
            }
            source = inner.source();
        }
        Self::new(text)
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Its text: a check refuses a message with the reason why it can't be read.
impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.text
    }
}

impl Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (status {})", self.text, self.status)
    }
}
