//! The guardian's errors.

use std::io;

use thiserror::Error;

/// Why nothing may be pressed.
#[derive(Debug, Error)]
pub enum GuardianError {
    /// The display server can't be reached, or does not let programs press and release.
    #[error("failed to start the process that releases the mouse when this one dies: {0}")]
    Display(String),
    /// The system gives no process or no memory.
    #[error("failed to start the process that releases the mouse when this one dies: {0}")]
    System(#[from] io::Error),
    /// It was started and ended, or did not become ready.
    #[error("the process that releases the mouse when this one dies did not become ready")]
    NotReady,
    /// It was killed or stopped.
    #[error("the process that releases the mouse when this one dies was killed or stopped")]
    Killed,
    /// There is none for this system.
    #[error("on this system nothing releases the mouse when this process dies")]
    Unsupported,
}
