//! Runs a pipeline.
//!
//! A run has one control thread, which creates the stages, supervises them and ends them ([`control`]), and one thread
//! for each worker of each stage ([`worker`]). A worker whose plugins race has a [`driver`] and a thread for each plugin.
//! Several workers of a stage emit in the order of their messages ([`order`]). Messages go from thread to thread over the
//! edges of [`crate::edge`].

pub(crate) mod call;
mod call_record;
mod control;
pub(crate) mod counts;
pub(crate) mod create;
pub mod distributed;
mod driver;
mod error;
pub(crate) mod event;
mod exit;
mod instances;
pub(crate) mod journal;
pub(crate) mod message_schemas;
pub(crate) mod names;
mod notify;
pub(crate) mod order;
pub(crate) mod outcome;
mod perform;
pub(crate) mod plan;
pub(crate) mod race;
pub mod reload;
pub mod remote;
pub mod replay;
mod replay_worker;
pub mod served;
pub(crate) mod shared;
pub(crate) mod stage;
mod summary;
mod task;
mod threads;
pub(crate) mod work;
pub(crate) mod worker;
pub mod worker_call;
pub mod worker_proxy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;
use flowpipe_isolation::Program;
use flowpipe_recording::entry::Call;

use crate::check::Validators;
use crate::report::{Distribution, Progress, Report, Snapshot};
use crate::run::control::Control;
use crate::run::distributed::WorkerMachine;
pub use crate::run::error::StartError;
pub use crate::run::reload::{
    ChangeError, Changes, PipelineChange, Reloader, StageChangeKind, StageChanges,
};
use crate::run::remote::RemoteEnds;
use crate::run::replay::Replay;
use crate::run::shared::Shared;
use crate::run::summary::{CurrentTopology, Topology};
pub use crate::run::task::{Completion, Task, TaskResult, event_name};
use crate::supervisor::StopCause;

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// Validators of messages, by schema id.
    pub validators: Validators,
    /// Observers of the run.
    pub observers: Vec<Arc<dyn Observer>>,
    /// A dry run: stages have no effects outside of the program, and log what they would have done.
    pub dry: bool,
    /// The run's clock, already started.
    pub clock: Clock,
    /// A recorded run to replay.
    pub replay: Option<Arc<Replay>>,
    /// How to start processes for isolated stages.
    pub program: Option<Program>,
    /// The stages that other machines run, by index: see [`RunHandle::take_remote_ends`].
    pub elsewhere: BTreeSet<usize>,
    /// The sources whose messages the caller makes, by index: it gives them to the [`remote::IncomingEdge`]s of these
    /// stages. Their plugins are not created. The queues of their edges are those of the pipeline.
    pub fed: BTreeSet<usize>,
    /// The machines of workers that are not here, by the index of the stage and of the worker.
    pub worker_machines: BTreeMap<(usize, usize), Arc<dyn WorkerMachine>>,
    /// How long stages may go on waiting, for a time or for somebody outside, once the run was asked to end.
    pub last_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            validators: Validators::default(),
            observers: Vec::new(),
            dry: false,
            clock: Clock::default(),
            replay: None,
            program: None,
            elsewhere: BTreeSet::new(),
            fed: BTreeSet::new(),
            worker_machines: BTreeMap::new(),
            last_wait: Self::LAST_WAIT,
        }
    }
}

impl Options {
    /// The default of [`Self::last_wait`].
    pub const LAST_WAIT: Duration = Duration::from_secs(5);
}

/// Observes a run. Most methods are called on the stages' threads, so they should be quick; problems and calls that hang
/// are also reported by the control thread, changes by the thread that reloads. Methods that are not overridden cost next
/// to nothing.
pub trait Observer: Send + Sync {
    /// The checks have accepted a message, which is sent next unless its text is no JSON. An observer that needs it as a
    /// type reads it here, by [`Message::read`]: that shows that it is JSON, and nobody parses it again.
    fn accepted(&self, message: &Message) {
        let _ = message;
    }

    /// A stage emits a message at one of its outputs, in the order of the output's sequence numbers. In a replay, that
    /// order is the one of the recorded calls, which differs for workers that were not `ordered`.
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let _ = (stage, port, message);
    }

    /// A message of a stage on another machine has arrived, which an observer there has seen too. By default the same as
    /// one of a stage here.
    fn arrived(&self, stage: usize, port: usize, message: &Arc<Message>) {
        self.message(stage, port, message);
    }

    /// Whether stages have to wait before they emit more, as they do for a full queue.
    fn wants_time(&self) -> bool {
        false
    }

    /// Waits until [`Self::wants_time`] is false, or until `gives_up` returns true.
    fn wait_for_room(&self, gives_up: &dyn Fn() -> bool) {
        let _ = gives_up;
    }

    /// A stage sets a mark on the message that it is processing, at this time of the run's clock.
    fn mark(&self, stage: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        let _ = (stage, name, message, now_ns);
    }

    /// A problem occurred, at this time of the run's clock. It has been logged and counted.
    fn problem(&self, problem: &Problem, now_ns: i64) {
        let _ = (problem, now_ns);
    }

    /// Whether [`Self::call`] is to be called.
    fn wants_calls(&self) -> bool {
        false
    }

    /// A call of a stage has returned.
    fn call(&self, stage: usize, call: &Call) {
        let _ = (stage, call);
    }

    /// Whether [`Self::task_started`] and [`Self::task_finished`] are to be called.
    fn wants_tasks(&self) -> bool {
        false
    }

    /// A call of a plugin starts. What it emits and marks until [`Self::task_finished`] is reported on the same thread.
    fn task_started(&self, task: &Task<'_>) {
        let _ = task;
    }

    /// A call of a plugin has returned. Not called if the plugin was abandoned meanwhile.
    fn task_finished(&self, task: &Task<'_>, completion: &Completion<'_>) {
        let _ = (task, completion);
    }

    /// The pipeline has changed. Called before new plugins run; unchanged stages continue meanwhile.
    fn changed(&self, change: &PipelineChange<'_>) {
        let _ = change;
    }

    /// The queue of an edge (an index into [`Pipeline::edges`], see [`PipelineChange`]) was full and dropped a message.
    fn dropped(&self, edge: usize, message: &Message, now_ns: i64) {
        let _ = (edge, message, now_ns);
    }

    /// All stages have ended, and the run is over as soon as their plugins are destroyed. Called once on the control
    /// thread, and not if the run has failed to start. A plugin that was abandoned may still set marks.
    fn ended(&self) {}
}

/// Starts runs.
pub struct Run;

/// A handle of an active run. Dropping it detaches the run, which continues.
pub struct RunHandle {
    shared: Arc<Shared>,
    current: CurrentTopology,
    reloader: Reloader,
    remote: RemoteEnds,
    control: JoinHandle<Report>,
}

/// Stops a run, from any thread: see [`RunHandle::stopper`].
#[derive(Clone)]
pub struct Stopper(Arc<Shared>);

/// Reads the counts of a run, from any thread: see [`RunHandle::view`].
#[derive(Clone)]
pub struct RunView {
    shared: Arc<Shared>,
    current: CurrentTopology,
}

impl Run {
    /// Creates and activates all stages, and starts their threads.
    ///
    /// # Errors
    /// When the catalogue lacks a plugin of the pipeline, when stages don't fit together, and when a plugin rejects its
    /// config or fails to activate. Nothing runs then.
    pub fn start(
        pipeline: Pipeline,
        catalogue: &Catalogue,
        options: Options,
    ) -> Result<RunHandle, StartError> {
        let mut plan = plan::Plan::new(pipeline, catalogue, options)?;
        let remote = std::mem::take(&mut plan.remote);
        let shared = plan.shared.clone();
        let current = CurrentTopology::new(Topology {
            stages: plan.stages.clone(),
            edges: plan.edges.clone(),
        });
        let reloader = Reloader::new(&plan, current.clone());
        let shown = current.clone();
        let (ready, is_ready) = crossbeam_channel::bounded(1);
        let control = std::thread::Builder::new()
            .name("flowpipe-control".into())
            .spawn(move || Control::new(plan, shown).run(&ready))?;
        is_ready.recv().map_err(|_| StartError::Panicked)??;
        Ok(RunHandle {
            shared,
            current,
            reloader,
            remote,
            control,
        })
    }
}

impl RunHandle {
    /// Stops the run as `on_stop` of the pipeline specifies: sources end, and queues are drained or dropped. A second
    /// call aborts it.
    pub fn stop(&self) {
        self.shared.stop(StopCause::Request);
    }

    /// Cancels all calls. Plugins that don't return within a second, or their stage's `watchdog` if that is shorter,
    /// are abandoned.
    pub fn abort(&self) {
        self.shared.stop(StopCause::Abort);
    }

    /// Stops and aborts the run from other threads, also while [`Self::wait`] waits.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.shared.clone())
    }

    /// The counts so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.view().progress()
    }

    /// Changes the pipeline while it runs: see [`Reloader::change`].
    ///
    /// # Errors
    /// When the run can't be changed to the new pipeline. It continues unchanged.
    pub fn change(
        &self,
        pipeline: Pipeline,
        catalogue: &Catalogue,
    ) -> Result<Changes, ChangeError> {
        self.reloader.change(pipeline, catalogue)
    }

    /// Changes the run from other threads, also while [`Self::wait`] waits.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Reads the counts of the run from other threads, also while [`Self::wait`] waits and when it is over.
    #[must_use]
    pub fn view(&self) -> RunView {
        RunView {
            shared: self.shared.clone(),
            current: self.current.clone(),
        }
    }

    /// The ends of the edges to and from stages that other machines run. A stream to a stage here ends when its end is
    /// dropped. [`Self::wait`] drops those that nobody has taken.
    #[must_use]
    pub fn take_remote_ends(&mut self) -> RemoteEnds {
        std::mem::take(&mut self.remote)
    }

    /// Lets workers end whose machines are dead: see [`WorkerMachine`].
    pub fn end_workers_of_dead_machines(&self) {
        let topology = self.current.topology();
        let stages = topology.stages.iter();
        stages.for_each(|stage| distributed::end_workers_of_dead_machines(stage));
    }

    /// Whether the run was stopped or has failed: sources end.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.mode() != Mode::Run
    }

    /// Whether [`Self::wait`] would return at once.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.control.is_finished()
    }

    /// Waits for the end of the run.
    #[must_use]
    pub fn wait(self) -> Report {
        // Otherwise stages would wait for them.
        drop(self.remote);
        match self.control.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl RunView {
    /// As [`RunHandle::progress`].
    #[must_use]
    pub fn progress(&self) -> Progress {
        let topology = self.current.topology();
        summary::progress(&self.shared, &topology.stages, &topology.edges)
    }

    /// The durations of each stage's calls so far, in the order of the pipeline. Walks histograms, which takes some
    /// tens of microseconds per stage and blocks calls that end meanwhile: call it at most a few times a second.
    #[must_use]
    pub fn times(&self) -> Vec<Distribution> {
        summary::times(&self.current.topology().stages)
    }

    /// All counts and durations so far. Call it as seldom as [`Self::times`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let topology = self.current.topology();
        summary::snapshot(&self.shared, &topology.stages, &topology.edges)
    }
}

impl Stopper {
    /// As [`RunHandle::stop`].
    pub fn stop(&self) {
        self.0.stop(StopCause::Request);
    }

    /// Another machine of the run ends: this one ends as `on_stop` of the pipeline specifies, if it does not end already.
    pub fn stop_with_other_machine(&self) {
        self.0.stop(StopCause::OtherMachine);
    }

    /// Whether the run is ending: see [`RunHandle::is_ending`].
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.0.mode() != Mode::Run
    }

    /// As [`RunHandle::abort`].
    pub fn abort(&self) {
        self.0.stop(StopCause::Abort);
    }
}
