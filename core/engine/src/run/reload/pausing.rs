//! The protocol between the thread that changes a pipeline and the control thread: stages pause one after the other
//! ([`crate::supervisor`]), and resume.
//!
//! The requesting thread transfers state and rewires queues in between. The control thread supervises the run
//! meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crossbeam_channel::Sender;
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::Instance;

use crate::run::stage::Stage;
use crate::supervisor::Slot;

/// A request to pause stages.
pub(crate) struct Request {
    /// In this order: a stage that may have to wait for another one pauses before it.
    pub stages: Vec<Arc<Stage>>,
    /// To the requester.
    pub answer: Sender<Result<PausedStages, PauseRefused>>,
    /// Alive while the requester is.
    pub requester: Weak<()>,
}

/// The result of the pause, by stage index.
pub(crate) type PausedStages = HashMap<usize, PausedStage>;

/// The result of pausing one stage.
pub(crate) enum PausedStage {
    /// It is paused. Its instances, without those that were abandoned or whose worker had ended.
    Paused(Vec<(Slot, Instance)>),
    /// It had ended before.
    Over,
}

/// Why the stages did not pause. They resume.
pub(crate) enum PauseRefused {
    /// This stage does not return from its call.
    Busy(Arc<Stage>),
    /// The run is ending.
    Ending,
}

/// A request to resume stages.
pub(crate) struct Resume {
    pub stages: Vec<ResumedStage>,
    /// Signalled when their threads have started.
    pub done: Sender<()>,
}

/// A stage to resume.
pub(crate) struct ResumedStage {
    pub stage: Arc<Stage>,
    pub found: Vec<Found>,
    pub instances: Vec<(Slot, Instance)>,
}
