//! Why there is no connection any more.

use std::io::{self, ErrorKind};

use thiserror::Error;
use wayland_client::DispatchError;
use wayland_client::backend::WaylandError;

/// The compositor does not answer, has ended the connection, or sends what can't be.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Lost(pub String);

impl From<DispatchError> for Lost {
    fn from(error: DispatchError) -> Self {
        let has_ended = |error: &io::Error| {
            matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            )
        };
        Self(match error {
            DispatchError::Backend(WaylandError::Io(error)) if has_ended(&error) => {
                "the compositor has ended".to_owned()
            }
            error => error.to_string(),
        })
    }
}

impl From<WaylandError> for Lost {
    fn from(error: WaylandError) -> Self {
        DispatchError::Backend(error).into()
    }
}
