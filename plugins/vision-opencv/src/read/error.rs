//! The errors of reading that do not depend on what a picture shows.

use thiserror::Error;

use crate::picture::PictureError;

/// Why reading failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Bytes that are no picture.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Nobody wants the reading any more.
    #[error("cancelled")]
    Cancelled,
    /// OpenCV failed.
    #[error("OpenCV: {0}")]
    OpenCv(#[from] opencv::Error),
    /// A board that the puzzle model does not take, which the steps should not have let pass.
    #[error("a reading that is no puzzle: {0}")]
    Puzzle(#[from] flowpipe_plugin::puzzle::PuzzleError),
}
