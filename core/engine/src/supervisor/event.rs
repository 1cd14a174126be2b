//! The events of the supervisor, and the actions that it returns.

use std::time::Duration;

use flowpipe_config::pipeline::OnStop;
use flowpipe_host::problem::Problem;
use flowpipe_host::run::{Ending, Mode};
use flowpipe_sync::calls::CallNumber;

use crate::supervisor::policy::{Decision, Policy};
use crate::watch::{CallSnapshot, Reason};

/// The slot of one plugin of one worker of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub stage: usize,
    /// 0, unless the stage has several workers.
    pub worker: usize,
    /// 0 without a race.
    pub contestant: usize,
}

/// A worker of a stage: one plugin, or several that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerId {
    pub stage: usize,
    pub worker: usize,
}

impl Slot {
    /// The worker that it is part of.
    pub(crate) fn worker_id(self) -> WorkerId {
        WorkerId {
            stage: self.stage,
            worker: self.worker,
        }
    }
}

impl WorkerId {
    /// The slot of one of its plugins.
    pub(crate) fn slot(self, contestant: usize) -> Slot {
        Slot {
            stage: self.stage,
            worker: self.worker,
            contestant,
        }
    }
}

/// The state of a slot. Times are nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// An instance is being created.
    Creating,
    /// Its instance has a thread.
    Running(Activity),
    /// There is no instance. One is created at this time.
    Backoff { until: i64 },
    /// It has no thread: its stage has not started or is paused, or, in a replay, another plugin of its thread is not
    /// ready. `is_there`: whether it has an instance.
    Paused { is_there: bool },
    /// Its instance is being destroyed. It is to be restarted at this time, if at all.
    Destroying { restart: Option<i64> },
    /// Its stream has ended. The instance waits for the end of the run.
    Finished,
    /// It has no instance, and gets none any more.
    Gone,
    /// Its instance was abandoned with its thread, which hung, panicked or did not start. It is not replaced.
    Abandoned,
}

/// What a plugin with a thread does. Without a race, it is `Idle` until it is to be restarted: its thread takes the
/// messages itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The race does not know it yet.
    Joining,
    /// It can take part in a race.
    Idle,
    /// It processes a message of a race.
    Busy,
    /// It failed and is to be restarted: its thread ends.
    Restarting,
    /// It takes part in no further race. Its thread returns the instance when it ends.
    Left,
}

/// How the plugins of a stage are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadModel {
    /// Each worker has one plugin, with a thread.
    One,
    /// Each worker is a race: its plugins have a thread each, and the race has one.
    Race,
    /// One thread calls all plugins of all workers, as recorded.
    Replay,
}

/// The supervisor's settings of a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub policy: Policy,
    pub is_source: bool,
    pub threads: ThreadModel,
    pub workers: usize,
    /// The plugins of each worker.
    pub contestants: usize,
    pub timeout: Option<Duration>,
    pub watchdog: Duration,
}

/// A stage that starts, or resumes after a pause.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub stage: usize,
    /// Set if it starts or its settings have changed.
    pub settings: Option<Settings>,
    /// Its slots that have an instance.
    pub present: Vec<Slot>,
    /// Those whose instance was lost during the pause, with the problem.
    pub lost: Vec<(Slot, Problem)>,
}

/// Why a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// A request. The second one aborts the run.
    Request,
    /// A request to abort it.
    Abort,
    /// A problem that ends it.
    Failure,
    /// Another machine of the run ends. It aborts nothing, however often that comes.
    OtherMachine,
    /// A stage ended it on purpose.
    Stage(Ending),
}

/// Why a call of a replay was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Excess {
    /// It took too long.
    Time,
    /// It took too much memory.
    Memory,
}

/// The process of the plugin in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallProcess {
    /// It runs in this program's process.
    Here,
    /// It has a process of its own, which is in a call.
    Busy,
    /// It has a process of its own, which is in no call.
    Idle,
}

/// The result of one race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaceResult {
    /// It has an answer, or needs none.
    Answered,
    /// A contestant had no more output, and none failed.
    Ended,
    /// All that took part failed, or the winner did. `restarts`: one of them is restarted.
    Failed { restarts: bool },
}

/// An event.
#[derive(Debug)]
pub(crate) enum Event {
    /// The run has to end.
    Stop(StopCause),
    /// The pipeline's `on_stop` is set.
    OnStop(OnStop),
    /// Stages start, or resume after a pause.
    Resumed(Vec<Resumed>),
    /// An instance was created.
    Created(Slot),
    /// An instance failed to start.
    CreateFailed(Slot, Problem),
    /// No instance could be created now, because another thread creates or destroys one.
    Deferred(Slot),
    /// An instance was destroyed.
    Destroyed(Slot),
    /// A plugin has processed a message.
    Succeeded(Slot),
    /// A plugin failed. `is_alive`: it could continue as it is.
    Failed { slot: Slot, is_alive: bool },
    /// A call is in progress.
    Observed {
        slot: Slot,
        call: CallSnapshot,
        process: CallProcess,
    },
    /// A plugin hung. It and its thread were abandoned. `was_stopped`: it was cancelled because the run ends.
    /// `excess`: which limit of a replay it exceeded. `can_create`: no other thread creates or destroys a plugin now.
    Hung {
        slot: Slot,
        was_stopped: bool,
        excess: Option<Excess>,
        can_create: bool,
        problem: Problem,
    },
    /// The thread of a plugin has ended.
    Ended(Slot, Exit),
    /// A thread of a race, or the one that calls all plugins of a stage, failed to start, so that the race or the stage
    /// does not start. `missing`: the plugins without a thread. The others' threads end by themselves.
    ThreadsFailed { race: WorkerId, missing: Vec<Slot> },
    /// A race has a message.
    RaceMessage(WorkerId),
    /// A race knows a contestant.
    Joined(Slot),
    /// A race has received the result of a contestant's call. `is_over`: it has no more output.
    CallFinished { slot: Slot, is_over: bool },
    /// A race for one message is over.
    RaceConcluded { race: WorkerId, result: RaceResult },
    /// The thread of a race has ended, to pause or with the stream.
    RaceEnded { race: WorkerId, to_pause: bool },
    /// A stage was removed from the pipeline.
    Removed { stage: usize },
    /// A request to pause stages, in this order. `patience`: how long each may take.
    Pause {
        stages: Vec<usize>,
        patience: Duration,
    },
    /// The result of [`Action::ReopenGate`]. `pausing`: the workers whose threads are ending already.
    Reopened { stage: usize, pausing: Vec<usize> },
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
    /// The answer to the thread that reported a failure or the result of a race.
    Decide(Decision),
    /// Set the mode of the run, unless it is further already.
    SetMode(Mode),
    /// Create an instance. The result is [`Event::Created`], [`Event::CreateFailed`] or [`Event::Deferred`].
    Create(Slot),
    /// Start the thread of an instance. `is_restart`: it replaces one that failed.
    Start { slot: Slot, is_restart: bool },
    /// Start the threads of a race.
    StartRace { race: WorkerId, present: Vec<Slot> },
    /// Start the one thread that calls all plugins of a stage. `restarted`: by worker and plugin, whether it was just
    /// restarted. `None`: the stage starts.
    StartReplay {
        stage: usize,
        restarted: Option<Vec<bool>>,
    },
    /// Destroy an instance. The result is [`Event::Destroyed`].
    Destroy(Slot),
    /// Close the ports of a stage.
    Close { stage: usize },
    /// Pass the message of a race to these contestants. `sit_out`: those that are busy.
    Race {
        entrants: Vec<usize>,
        sit_out: Vec<usize>,
    },
    /// Wait until the race learns something, and report the message again: no contestant is free, but one will be.
    AwaitContestant,
    /// End the race: no contestant is left. `is_failure`: the run fails.
    EndRace { is_failure: bool },
    /// Notify a race that a contestant has no instance any more, or gets none.
    NotifyRace(Slot),
    /// Cancel a call.
    Cancel { call: CallNumber, reason: Reason },
    /// Report that a call has not returned for this time.
    Warn { worked: Duration },
    /// Kill the process of a plugin that hangs: its thread then returns by itself.
    Kill { why: String },
    /// Abandon a plugin that hangs and its thread, unless the call returns meanwhile. The result is [`Event::Hung`].
    Abandon { why: String },
    /// Observe the call again after this time.
    ObserveAgain { after: Duration },
    /// Close the gate of a stage, so that it pauses.
    CloseGate { stage: usize },
    /// Open the gate of a stage, except for workers whose threads are ending already. The result is
    /// [`Event::Reopened`].
    ReopenGate { stage: usize },
    /// Open the gate of a stage.
    OpenGate { stage: usize },
    /// Answer the thread that requested the pause.
    Answer(Answer),
    /// Report a problem.
    Report(Problem),
    /// Report a problem that ends the run. The result is [`StopCause::Failure`].
    Fail(Problem),
}

/// The answer to the requester of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The stages are paused, and the requester owns their instances. Each with its slots that have an instance;
    /// `None`: the stage had ended.
    Paused {
        stages: Vec<(usize, Option<Vec<Slot>>)>,
    },
    /// The stages resume unchanged.
    Refused(Refusal),
}

/// Why a pause is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This stage does not return from its call.
    Busy { stage: usize },
    /// The run is ending.
    Ending,
}

impl Event {
    /// Whether any thread may report it. It starts, creates and destroys nothing. Only the control thread reports the
    /// other events.
    pub(super) fn is_from_any_thread(&self) -> bool {
        matches!(
            self,
            Self::Stop(_)
                | Self::OnStop(_)
                | Self::Succeeded(_)
                | Self::Failed { .. }
                | Self::Observed { .. }
                | Self::RaceMessage(_)
                | Self::Joined(_)
                | Self::CallFinished { .. }
                | Self::RaceConcluded { .. }
                | Self::Removed { .. }
        )
    }
}
