//! What the supervisor is told, and what it returns.

use std::time::Duration;

use crate::problem::Problem;
use crate::run::shared::Mode;
use crate::run::supervisor::{Answer, Resumed, Verdict};

/// The place of one plugin of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub stage: usize,
    pub contestant: usize,
}

/// Where the plugin of a slot is in its life. Times are nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// An instance is being created.
    Creating,
    /// Its instance has a thread.
    Running,
    /// As running, in a stage that the pipeline does not have any more: it drains its queue.
    Draining,
    /// There is no instance. One is created at this time.
    Backoff { until: i64 },
    /// It continues without a thread of its own, with an instance or without.
    Paused { is_there: bool },
    /// Its instance is being destroyed. It is to be restarted at this time, if at all.
    Destroying { restart: Option<i64> },
    /// Its stream has ended. The instance waits for the end of the run.
    Finished,
    /// It has no instance any more, and gets none.
    Gone,
    /// Its instance hangs, and was left behind with its thread. Nothing takes its place.
    Abandoned,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// The run is on its way to the end.
    Mode(Mode),
    /// Stages start, or continue after a pause.
    Resumed(Vec<Resumed>),
    /// An instance was created.
    Created(Slot),
    /// An instance could not be created.
    Refused(Slot, Problem),
    /// No instance could be created now, because another thread creates or destroys one.
    Deferred(Slot),
    /// An instance was destroyed.
    Destroyed(Slot),
    /// A plugin has processed a message.
    Succeeded(Slot),
    /// A plugin failed. `is_alive`: it could continue as it is.
    Failed { slot: Slot, is_alive: bool },
    /// A plugin hangs. It and its thread were left behind. `was_stopped`: it was cancelled because the run ends.
    /// `is_final`: it is not restarted. `can_create`: no other thread creates or destroys a plugin now.
    Hung {
        slot: Slot,
        was_stopped: bool,
        is_final: bool,
        can_create: bool,
        problem: Problem,
    },
    /// The thread of a plugin has ended.
    Ended(Slot, Exit),
    /// The thread of a race has ended, to pause or for good.
    RaceEnded { stage: usize, to_pause: bool },
    /// A plugin does not take part in its race any more.
    LeftRace(Slot),
    /// The pipeline does not have a stage any more.
    Removed { stage: usize },
    /// Stages are to pause, in this order. `patience`: how long each may take.
    Pause {
        stages: Vec<usize>,
        patience: Duration,
    },
    /// The gate of a stage was to be opened again. False: its thread ends already.
    Reopened { stage: usize, is_open: bool },
    /// Whoever asked for the pause does not exist any more.
    AskerGone(Option<Problem>),
    /// Time has passed.
    Tick,
    /// The run is over.
    Over,
}

/// How the thread of a plugin ended. Where one thread calls all plugins of a stage, each of them is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Its stream has ended, or it has.
    Finished,
    /// To pause.
    Paused,
    /// The plugin is to be restarted after this time.
    Restart(Duration),
    /// Another plugin of the same thread is to be restarted.
    Waits,
    /// By a panic, which destroyed nothing.
    Panicked,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Action {
    /// To the thread that reported a failure.
    Decide(Verdict),
    /// Create an instance. The answer is created, refused or deferred.
    Create(Slot),
    /// Start the thread of an instance that is there. `is_restart`: it was created because another failed.
    Start { slot: Slot, is_restart: bool },
    /// Start the threads of a race. `missing`: contestants that are to be created yet.
    StartRace {
        stage: usize,
        present: Vec<usize>,
        missing: Vec<usize>,
    },
    /// Start the one thread that calls all plugins of a stage. `restarted`: by plugin, whether it was restarted just
    /// now. `None`: the stage starts.
    StartReplay {
        stage: usize,
        restarted: Option<Vec<bool>>,
    },
    /// Destroy an instance. The answer is destroyed.
    Destroy(Slot),
    /// Close the ports of a stage: nothing works in it any more.
    Close { stage: usize },
    /// Tell a race that a contestant is not there, and whether another instance takes its place.
    TellRace { slot: Slot, returns: bool },
    /// Close the gate of a stage, so that it pauses.
    CloseGate { stage: usize },
    /// Open the gate of a stage, unless its thread ends already. The answer is reopened.
    ReopenGate { stage: usize },
    /// Open the gate of a stage.
    OpenGate { stage: usize },
    /// Tell whoever asked for the pause.
    Answer(Answer),
    /// Report a problem.
    Report(Problem),
    /// Report a problem, and end the run for it.
    Fail(Problem),
}
