//! What whoever changes a pipeline and the control thread say to each other: stages pause one after the other
//! ([`crate::supervisor`]), and continue.
//!
//! The control thread watches over all meanwhile. What happens between, the transfer of state and the joining of queues, is
//! done by the thread that asked for the change.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crossbeam_channel::Sender;
use flowpipe_host::catalogue::Found;
use flowpipe_host::instance::Instance;

use crate::run::stage::Stage;

/// Which stages are to pause.
pub(crate) struct Request {
    /// In this order: whoever may have to wait for another pauses before it.
    pub stages: Vec<Arc<Stage>>,
    /// To whoever asked.
    pub answer: Sender<Result<PausedStages, Refusal>>,
    /// Alive while whoever asked is.
    pub asker: Weak<()>,
}

/// What became of each stage, by its number.
pub(crate) type PausedStages = HashMap<usize, PausedStage>;

/// What became of a stage that was to pause.
pub(crate) enum PausedStage {
    /// It pauses. Its instances, by contestant; those that were given up are missing.
    Paused(Vec<(usize, Instance)>),
    /// It had ended before.
    Over,
}

/// Why stages do not pause. They go on.
pub(crate) enum Refusal {
    /// This one does not come back from its message.
    Busy(Arc<Stage>),
    /// The run is ending.
    Ending,
}

/// How paused stages go on.
pub(crate) struct Resume {
    pub stages: Vec<Resumed>,
    /// Told when their threads have started.
    pub done: Sender<()>,
}

/// A stage that goes on.
pub(crate) struct Resumed {
    pub stage: Arc<Stage>,
    pub found: Vec<Found>,
    /// By contestant.
    pub instances: Vec<(usize, Instance)>,
}
