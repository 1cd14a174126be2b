//! Why there is no response.

use std::io;

use thiserror::Error;

/// Why there is no response.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The server can't be reached, or does not keep to HTTP.
    #[error("{0}")]
    Failed(String),
    /// It takes too long.
    #[error("there was no whole response within {0} ms (`timeout_ms`)")]
    Timeout(u64),
    /// Too much content.
    #[error("the response has more than {0} bytes (`max_response`)")]
    TooLarge(usize),
    /// Too many redirects.
    #[error("there are more than {0} redirects (`max_redirects`)")]
    Redirects(u32),
    /// Cancelled requests are still connecting.
    #[error("{0} requests that were cancelled have not ended yet")]
    TooMany(usize),
    /// The system has no thread for it.
    #[error("there is no thread for the request: {0}")]
    NoThread(io::Error),
    /// The call is cancelled.
    #[error("cancelled")]
    Cancelled,
}
