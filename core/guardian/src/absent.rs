//! Systems without a guardian.

use crate::error::GuardianError;
use crate::input::Input;

/// A guardian, which this system has none of.
#[derive(Debug)]
pub enum Guardian {}

impl Guardian {
    /// # Errors
    /// [`GuardianError::Unsupported`], always.
    pub fn start() -> Result<Self, GuardianError> {
        Err(GuardianError::Unsupported)
    }

    /// Notes that something is about to be pressed.
    ///
    /// # Errors
    /// None.
    pub fn pressed(&mut self, _: Input) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Looks whether what is pressed is guarded still.
    ///
    /// # Errors
    /// None.
    pub fn check(&mut self) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Notes that something has been released.
    pub fn released(&mut self, _: Input) {
        match *self {}
    }
}
