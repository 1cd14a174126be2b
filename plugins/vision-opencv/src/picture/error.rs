//! The errors of bytes that are no picture.

use thiserror::Error;

/// Why bytes are no picture.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PictureError {
    /// No pixels.
    #[error("a picture of {width} by {height} pixels")]
    Empty {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// More rows or bytes in a row than OpenCV counts.
    #[error("a picture too large for OpenCV: {height} rows of {stride} bytes")]
    TooLarge {
        /// Bytes from one row to the next.
        stride: usize,
        /// Pixels.
        height: u32,
    },
    /// The rows overlap.
    #[error("rows of {width} pixels do not fit into {stride} bytes")]
    ShortRow {
        /// Pixels.
        width: u32,
        /// Bytes from one row to the next.
        stride: usize,
    },
    /// Not enough bytes.
    #[error("a picture needs {needed} bytes, there are {found}")]
    ShortBuffer {
        /// Stride times height.
        needed: usize,
        /// What there is.
        found: usize,
    },
}
