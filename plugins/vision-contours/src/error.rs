//! Why there is no reading.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ReadError {
    /// The picture shows no board that can be read: the step that found this out, and why, in a sentence.
    #[error("{0}: {1}")]
    Refused(&'static str, String),
    /// Nobody wants the reading any more.
    #[error("cancelled")]
    Cancelled,
    /// OpenCV failed.
    #[error("OpenCV: {0}")]
    OpenCv(#[from] opencv::Error),
    /// A board that the steps should not have let pass.
    #[error("a reading that is no puzzle: {0}")]
    Puzzle(#[from] flowpipe_plugin::puzzle::PuzzleError),
}

/// A refusal at a step, for a reason.
pub fn refuse<T>(step: &'static str, reason: impl Into<String>) -> Result<T, ReadError> {
    Err(ReadError::Refused(step, reason.into()))
}
