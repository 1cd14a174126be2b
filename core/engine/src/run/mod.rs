//! Runs a pipeline.
//!
//! A run has one control thread, which makes the stages, watches over them and ends them
//! ([`control`]), and one thread for each stage ([`worker`]); a stage whose plugins race has a
//! [`driver`] and a thread for each plugin. Messages go from thread to thread over the edges of
//! [`crate::edge`].

pub(crate) mod call;
pub(crate) mod control;
mod create;
mod driver;
mod instances;
mod journal;
pub(crate) mod names;
pub(crate) mod outcome;
mod perform;
pub(crate) mod plan;
mod race;
pub mod reload;
pub mod replay;
mod retrace;
pub(crate) mod shared;
pub(crate) mod stage;
mod summary;
mod task;
pub mod tell;
mod threads;
pub(crate) mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::clock::Clock;
use flowpipe_host::message::Message;
use flowpipe_host::problem::Problem;
use flowpipe_isolation::Program;
use flowpipe_recording::entry::Call;

use crate::check::Validators;
use crate::report::{Progress, Report, Spread};
use crate::run::control::Control;
pub use crate::run::reload::{ChangeError, Changed, Changer, Changes, LineUp, What};
use crate::run::replay::Replay;
use crate::run::shared::Shared;
use crate::run::summary::{CurrentLine, Line};
pub use crate::run::task::{Completion, Task, TaskResult};

/// What the program hands to a run.
#[derive(Clone, Default)]
pub struct Options {
    /// Checks of what plugins say, by schema id.
    pub validators: Validators,
    /// Whoever watches.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Stages touch nothing outside of the program, and say in the log what they would have done.
    pub dry: bool,
    /// The run's clock: it is started already.
    pub clock: Clock,
    /// A recorded run that is to be run again, instead of one of its own.
    pub replay: Option<Arc<Replay>>,
    /// How processes are started for stages that have one of their own.
    pub program: Option<Program>,
}

/// Sees what happens in a run. Called on the stages' threads, so it should be quick; what it does
/// not override costs next to nothing.
pub trait Observer: Send + Sync {
    /// A stage emits a message at one of its outputs, in the order of the output's sequence numbers.
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let _ = (stage, port, message);
    }

    /// Whether stages are to wait before they emit more, as they do for a full queue.
    fn wants_time(&self) -> bool {
        false
    }

    /// Waits until it does not want more time, or until the waiting is given up.
    fn wait_for_room(&self, gives_up: &dyn Fn() -> bool) {
        let _ = gives_up;
    }

    /// A stage marks that something of a name happened now (by the run's clock) to the message in its
    /// hands.
    fn mark(&self, stage: usize, name: &str, message: Option<&Message>, now_ns: i64) {
        let _ = (stage, name, message, now_ns);
    }

    /// Something went wrong, at this time of the run's clock. It has been logged and counted.
    fn problem(&self, problem: &Problem, now_ns: i64) {
        let _ = (problem, now_ns);
    }

    /// Whether calls are to be written down for [`Self::call`].
    fn wants_calls(&self) -> bool {
        false
    }

    /// A call of a stage has come back.
    fn call(&self, stage: usize, call: &Call) {
        let _ = (stage, call);
    }

    /// Whether [`Self::begins`] and [`Self::worked`] are to be called.
    fn wants_tasks(&self) -> bool {
        false
    }

    /// A plugin begins to work. What it emits and marks until [`Self::worked`] is told on the same thread.
    fn begins(&self, task: &Task<'_>) {
        let _ = task;
    }

    /// A plugin has come back from its work. Not called where it was given up meanwhile.
    fn worked(&self, task: &Task<'_>, worked: &Completion<'_>) {
        let _ = (task, worked);
    }

    /// The pipeline has changed. Told before anything new speaks; what is not new goes on meanwhile.
    fn changed(&self, line: &LineUp<'_>) {
        let _ = line;
    }

    /// The queue of an edge (a number in [`Pipeline::edges`], see [`LineUp`]) was full: it dropped a message.
    fn dropped(&self, edge: usize, message: &Message, now_ns: i64) {
        let _ = (edge, message, now_ns);
    }
}

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No plugin of that name was found.
    #[error("stage \"{stage}\": there is no plugin \"{plugin}\"")]
    UnknownPlugin {
        /// The stage's name.
        stage: String,
        /// The plugin's name.
        plugin: String,
    },
    /// The stages don't fit together.
    #[error("stage \"{stage}\": {reason}")]
    Misfit {
        /// The stage's name.
        stage: String,
        /// What is wrong.
        reason: String,
    },
    /// A plugin could not be made into a stage.
    #[error("stage \"{stage}\": {plugin} can't {step}: {reason}")]
    Plugin {
        /// The stage's name.
        stage: String,
        /// The plugin's name.
        plugin: String,
        /// `create` or `activate`.
        step: &'static str,
        /// What the plugin said.
        reason: String,
    },
    /// The system gave no thread.
    #[error("can't start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The control thread ended before it answered.
    #[error("the control thread failed; its panic message is above")]
    Control,
}

/// Starts runs.
pub struct Run;

/// A run that goes on. Dropping it leaves the run going, unwatched.
pub struct RunHandle {
    shared: Arc<Shared>,
    current: CurrentLine,
    changer: Changer,
    control: JoinHandle<Report>,
}

/// Asks a run to stop, from anywhere: see [`RunHandle::stopper`].
#[derive(Clone)]
pub struct Stopper(Arc<Shared>);

/// Looks at a run, from anywhere: see [`RunHandle::looker`].
#[derive(Clone)]
pub struct Looker {
    shared: Arc<Shared>,
    current: CurrentLine,
}

impl Run {
    /// Makes all stages ready and starts their threads.
    ///
    /// # Errors
    /// When the pipeline names plugins that the catalogue has not, when its parts don't fit, and
    /// when a plugin refuses its config or fails to get ready. Nothing runs then.
    pub fn start(
        pipeline: Pipeline,
        catalogue: &Catalogue,
        options: Options,
    ) -> Result<RunHandle, StartError> {
        let plan = plan::Plan::new(pipeline, catalogue, options)?;
        let shared = plan.shared.clone();
        let current = CurrentLine::new(Line {
            stages: plan.stages.clone(),
            edges: plan.edges.clone(),
        });
        let changer = Changer::new(&plan, current.clone());
        let shown = current.clone();
        let (ready, is_ready) = crossbeam_channel::bounded(1);
        let control = std::thread::Builder::new()
            .name("flowpipe-control".into())
            .spawn(move || Control::new(plan, shown).run(&ready))?;
        is_ready.recv().map_err(|_| StartError::Control)??;
        Ok(RunHandle {
            shared,
            current,
            changer,
            control,
        })
    }
}

impl RunHandle {
    /// Asks the run to end as the pipeline says: sources end, and what is queued is worked off or
    /// dropped. Asked a second time, it ends at once.
    pub fn stop(&self) {
        self.shared.ask_to_stop();
    }

    /// Cancels all work. Plugins that don't notice within a second, or their stage's shorter
    /// watchdog time, are left behind.
    pub fn abort(&self) {
        self.shared.abort();
    }

    /// Stops and aborts the run from other threads, also while [`Self::wait`] waits.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.shared.clone())
    }

    /// The counts so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.looker().progress()
    }

    /// Changes the pipeline while it runs: see [`Changer::change`].
    ///
    /// # Errors
    /// When the new pipeline can't be taken up; the run goes on as it was.
    pub fn change(
        &self,
        pipeline: Pipeline,
        catalogue: &Catalogue,
    ) -> Result<Changes, ChangeError> {
        self.changer.change(pipeline, catalogue)
    }

    /// Changes the run from other threads, also while [`Self::wait`] waits.
    #[must_use]
    pub fn changer(&self) -> Changer {
        self.changer.clone()
    }

    /// Looks at the run from other threads, also while [`Self::wait`] waits and when it is over.
    #[must_use]
    pub fn looker(&self) -> Looker {
        Looker {
            shared: self.shared.clone(),
            current: self.current.clone(),
        }
    }

    /// Whether [`Self::wait`] would return at once.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.control.is_finished()
    }

    /// Waits for the end of the run.
    #[must_use]
    pub fn wait(self) -> Report {
        match self.control.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Looker {
    /// As [`RunHandle::progress`].
    #[must_use]
    pub fn progress(&self) -> Progress {
        let line = self.current.line();
        summary::progress(&self.shared, &line.stages, &line.edges)
    }

    /// How long each stage's calls took so far, in the order of the pipeline. It walks through histograms, some
    /// tens of microseconds a stage, and a call that ends meanwhile waits for that: ask a few times a second.
    #[must_use]
    pub fn times(&self) -> Vec<Spread> {
        summary::times(&self.current.line().stages)
    }
}

impl Stopper {
    /// As [`RunHandle::stop`].
    pub fn stop(&self) {
        self.0.ask_to_stop();
    }

    /// As [`RunHandle::abort`].
    pub fn abort(&self) {
        self.0.abort();
    }
}
