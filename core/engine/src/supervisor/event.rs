//! The events of the supervisor, and the actions that it returns.

use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::{Answer, Decision, Resumed};

/// The slot of one plugin of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub stage: usize,
    pub contestant: usize,
}

/// The state of a slot. Times are nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// An instance is being created.
    Creating,
    /// Its instance has a thread.
    Running,
    /// As running, in a removed stage: it drains its queue.
    Draining,
    /// There is no instance. One is created at this time.
    Backoff { until: i64 },
    /// It has no thread while its stage is paused. `is_there`: whether it has an instance.
    Paused { is_there: bool },
    /// Its instance is being destroyed. It is to be restarted at this time, if at all.
    Destroying { restart: Option<i64> },
    /// Its stream has ended. The instance waits for the end of the run.
    Finished,
    /// It has no instance, and gets none any more.
    Gone,
    /// Its instance hung, and was abandoned with its thread. It is not replaced.
    Abandoned,
}

/// An event.
#[derive(Debug)]
pub(crate) enum Event {
    /// The run is ending.
    Mode(Mode),
    /// Stages start, or resume after a pause.
    Resumed(Vec<Resumed>),
    /// An instance was created.
    Created(Slot),
    /// An instance failed to start.
    Refused(Slot, Problem),
    /// No instance could be created now, because another thread creates or destroys one.
    Deferred(Slot),
    /// An instance was destroyed.
    Destroyed(Slot),
    /// A plugin has processed a message.
    Succeeded(Slot),
    /// A plugin failed. `is_alive`: it could continue as it is.
    Failed { slot: Slot, is_alive: bool },
    /// A plugin hung. It and its thread were abandoned. `was_stopped`: it was cancelled because the run ends.
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
    /// The thread of a race has ended, to pause or with the stream.
    RaceEnded { stage: usize, to_pause: bool },
    /// A plugin has left its race.
    LeftRace(Slot),
    /// A stage was removed from the pipeline.
    Removed { stage: usize },
    /// A request to pause stages, in this order. `patience`: how long each may take.
    Pause {
        stages: Vec<usize>,
        patience: Duration,
    },
    /// The result of [`Action::ReopenGate`]. `is_open` is false if the stage's thread is ending already.
    Reopened { stage: usize, is_open: bool },
    /// The thread that requested the pause has panicked.
    RequesterGone(Option<Problem>),
    /// Time has passed.
    Tick,
    /// The run is over.
    Over,
}

/// How the thread of a plugin ended. Where one thread calls all plugins of a stage, there is one exit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The stream or the plugin has ended.
    Finished,
    /// The stage pauses.
    Paused,
    /// The plugin is to be restarted after this time.
    Restart(Duration),
    /// Another plugin of the same thread is to be restarted.
    Waits,
    /// By a panic. The instance was not destroyed.
    Panicked,
}

/// An action to perform.
#[derive(Debug)]
pub(crate) enum Action {
    /// The answer to the thread that reported a failure.
    Decide(Decision),
    /// Create an instance. The result is [`Event::Created`], [`Event::Refused`] or [`Event::Deferred`].
    Create(Slot),
    /// Start the thread of an instance. `is_restart`: it replaces one that failed.
    Start { slot: Slot, is_restart: bool },
    /// Start the threads of a race. `missing`: contestants that are still to be created.
    StartRace {
        stage: usize,
        present: Vec<usize>,
        missing: Vec<usize>,
    },
    /// Start the one thread that calls all plugins of a stage. `restarted`: by plugin, whether it was just restarted.
    /// `None`: the stage starts.
    StartReplay {
        stage: usize,
        restarted: Option<Vec<bool>>,
    },
    /// Destroy an instance. The result is [`Event::Destroyed`].
    Destroy(Slot),
    /// Close the ports of a stage.
    Close { stage: usize },
    /// Notify a race that a contestant has no instance, and whether another one replaces it.
    NotifyRace { slot: Slot, returns: bool },
    /// Close the gate of a stage, so that it pauses.
    CloseGate { stage: usize },
    /// Open the gate of a stage, unless its thread is ending already. The result is [`Event::Reopened`].
    ReopenGate { stage: usize },
    /// Open the gate of a stage.
    OpenGate { stage: usize },
    /// Answer the thread that requested the pause.
    Answer(Answer),
    /// Report a problem.
    Report(Problem),
    /// Report a problem that ends the run.
    Fail(Problem),
}
