//! The events that wake the control thread.

use flowpipe_host::instance::Instance;

use crate::run::error::StartError;
use crate::run::exit::WorkerExit;
use crate::run::reload::pausing::{Request, Resume};
use crate::supervisor::Slot;

/// An event that wakes the control thread.
pub(crate) enum ControlEvent {
    /// Something changed: check again.
    Nudge,
    /// A thread has ended, and returns its instances.
    Ended {
        /// The number of the thread.
        id: usize,
        exit: WorkerExit,
        /// It panicked, which is a bug in this program.
        panicked: bool,
    },
    /// A plugin with a process of its own was created, or failed to start.
    Created(Slot, Box<Result<Instance, StartError>>),
    /// One was destroyed.
    Destroyed(Slot),
    /// Pause stages, so that they can be changed.
    Pause(Request),
    /// Resume them.
    Resume(Resume),
}
