//! Systems without a guardian.

use crate::error::GuardianError;
use crate::input::{DisplayServer, Input};

/// A guardian. This system has none.
#[derive(Debug)]
pub enum Guardian {}

impl Guardian {
    /// # Errors
    /// [`GuardianError::Unsupported`], always.
    pub fn start(_: DisplayServer) -> Result<Self, GuardianError> {
        Err(GuardianError::Unsupported)
    }

    /// Guards on another connection.
    ///
    /// # Errors
    /// None.
    pub fn switch_to(&mut self, _: DisplayServer) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Restarts a guardian that was killed or stopped.
    ///
    /// # Errors
    /// None.
    pub fn restart_if_dead(&mut self) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Records that something is about to be pressed.
    ///
    /// # Errors
    /// None.
    pub fn pressed(&mut self, _: Input) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Checks that a guardian still guards what is pressed.
    ///
    /// # Errors
    /// None.
    pub fn check(&mut self) -> Result<(), GuardianError> {
        match *self {}
    }

    /// Records that something was released.
    pub fn released(&mut self, _: Input) {
        match *self {}
    }
}
