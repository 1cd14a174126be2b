//! The end of work that nobody wants any more.

use thiserror::Error;

/// The work is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cancelled")]
pub struct Cancelled;
