//! A single stage outside of a pipeline, for tools that test plugins.
//!
//! The same code calls it as in a run, with the same validation and error messages. There are no queues, no watchdog
//! and no threads: the caller's thread is the stage's thread.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::{Contestant, Isolation, OnError, OnStop, Pipeline, Stage};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::document::DocumentError;
use flowpipe_host::frame::{Frame, Layout};
pub use flowpipe_host::instance::state::State;
use flowpipe_host::instance::{CreateError, InProcess};
use flowpipe_host::message::{Descent, Hops, Lineage, Message, Origin};
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::status::{PANICKED, reason};
use flowpipe_host::table::{self, Host};
use flowpipe_sync::lock;
use serde_json::Value;

use crate::edge::Item;
use crate::run::outcome::Outcome;
use crate::run::plan::Plan;
use crate::run::work::Work;
use crate::run::worker::Worker;
use crate::run::{Observer, Options, StartError};
use crate::watch::{Reason, Watch};

/// Bytes that each trial leaks on purpose, as glibc's allocator counts them: a plugin's pointer to its host stays
/// valid.
pub const LEFT_BY_EACH: u64 = table::LEAKED_BYTES;

/// An active stage.
pub struct Trial {
    worker: Worker,
    plan: Plan,
    emitted_messages: Arc<EmittedMessages>,
    sent: u64,
}

/// The result of one call.
#[derive(Debug)]
pub struct TrialResult {
    /// How the call ended.
    pub end: CallEnd,
    /// The emitted messages, in order, each with its output.
    pub emitted: Vec<(usize, Arc<Message>)>,
    /// How long it took, without the waits that it requested.
    pub worked: Duration,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// Successfully.
    Fine,
    /// The stage has no more output.
    Ended,
    /// It stopped because it was cancelled.
    Stopped,
    /// It caught a panic of its own, with this message.
    Panicked(String),
    /// It failed, with this message.
    Failed(ProblemKind, String),
}

/// The result of loading the state of another stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadResult {
    /// The state was loaded.
    Loaded,
    /// It does not know the format.
    Unknown,
    /// It caught a panic of its own, with this message.
    Panicked(String),
    /// It rejected the state, with this message.
    Refused(String),
}

/// Cancels the call in progress, from any thread.
#[derive(Clone)]
pub struct Canceller(Arc<Watch>);

/// Collects the messages that the stage emits.
#[derive(Default)]
struct EmittedMessages(Mutex<Vec<(usize, Arc<Message>)>>);

impl Observer for EmittedMessages {
    fn message(&self, _: usize, port: usize, message: &Arc<Message>) {
        lock(&self.0).push((port, message.clone()));
    }
}

impl Trial {
    /// Creates and activates a stage. Of the options, the validators and `dry` are used. The stage reads times that are
    /// the same in each trial, also the capture times of its frames.
    ///
    /// # Errors
    /// When the plugin rejects its config, or fails to activate.
    pub fn new(found: &Found, config: Value, mut options: Options) -> Result<Self, StartError> {
        let emitted_messages = Arc::new(EmittedMessages::default());
        options.observers = vec![emitted_messages.clone()];
        let stage = Stage {
            name: found.manifest.name.clone(),
            contestants: vec![Contestant {
                plugin: found.manifest.name.clone(),
                config,
                revision: 0,
            }],
            timeout: None,
            on_error: OnError::Skip,
            watchdog: Duration::MAX,
            fresh: false,
            isolation: Isolation::Thread,
            restart: None,
            workers: 1,
            ordered: true,
        };
        let pipeline = Pipeline {
            name: "trial".to_owned(),
            stages: vec![stage],
            edges: Vec::new(),
            on_stop: OnStop::Drop,
            machines: flowpipe_config::pipeline::Machines::default(),
            record: None,
        };
        let plan = Plan::new(pipeline, &Catalogue::from(found.clone()), options)?;
        let stage = plan.stages[0].clone();
        let refuse = |step, error: CreateError| StartError::Plugin {
            stage: found.manifest.name.clone(),
            plugin: found.manifest.name.clone(),
            step,
            is_bad_config: matches!(error, CreateError::BadConfig(_)),
            reason: error.to_string(),
        };
        let services = stage.run.services.clone();
        let host = Host::new(
            &found.manifest.name,
            0,
            services,
            StageClock::Stepping(0.into()),
        );
        let config = stage.settings.contestants.first().map(|it| &it.config);
        let mut instance = InProcess::create(found, config.unwrap_or(&Value::Null), host)
            .map_err(|reason| refuse("start", reason))?;
        if let Err(reason) = instance.activate(&*stage.run) {
            instance.destroy();
            return Err(refuse("activate", reason));
        }
        let watch = Arc::new(Watch::default());
        let worker = Worker {
            slot: stage.worker_id(0).slot(0),
            stage,
            watch,
            instance,
            may_have_failed: false,
        };
        Ok(Self {
            worker,
            plan,
            emitted_messages,
            sent: 0,
        })
    }

    /// Sends a message to the stage.
    ///
    /// # Errors
    /// When the body is not JSON in UTF-8: such a message never reaches a plugin.
    pub fn message(
        &mut self,
        port: usize,
        schema: &str,
        json: &[u8],
        frame: Option<Frame>,
    ) -> Result<TrialResult, DocumentError> {
        self.sent += 1;
        let host = self.worker.instance.host();
        let captured_ns = host.stage_clock().read(host.clock());
        let message = Message {
            frame,
            lineage: Lineage {
                sequence: self.sent,
                origin: Some(Origin {
                    stage: 0,
                    sequence: self.sent,
                    captured_ns,
                }),
                captured: None,
                hops: Hops::new(),
                root: None,
            },
            ..Message::detached(schema, json)?
        };
        let now = self.worker.stage.run.now();
        let item = Item {
            message: Arc::new(message),
            receipt: None,
        };
        Ok(self.work(&Work::message(port, item, now)))
    }

    /// Calls a source once.
    pub fn tick(&mut self) -> TrialResult {
        self.event(abi::EVENT_TICK)
    }

    /// Calls the stage after its inputs have ended.
    pub fn finish(&mut self) -> TrialResult {
        self.event(abi::EVENT_FINISH)
    }

    /// Resets the stage's state.
    ///
    /// # Errors
    /// When the stage fails.
    pub fn reset(&mut self) -> Result<(), String> {
        match self.worker.instance.reset() {
            abi::OK => Ok(()),
            status => Err(reason(status, self.worker.instance.host())),
        }
    }

    /// Saves the stage's state. `None`: it does not support that.
    ///
    /// # Errors
    /// When the stage fails.
    pub fn save(&mut self) -> Option<Result<State, String>> {
        let limits = self.worker.stage.limits();
        self.worker.instance.save(&limits).transpose()
    }

    /// Loads the state of another stage. The ABI demands that this stage has processed no message yet.
    pub fn load(&mut self, state: &State) -> LoadResult {
        let limits = self.worker.stage.limits();
        match self.worker.instance.load(state, &limits) {
            Ok(true) => LoadResult::Loaded,
            Ok(false) => LoadResult::Unknown,
            Err(text) if text.starts_with(PANICKED) => LoadResult::Panicked(text),
            Err(text) => LoadResult::Refused(text),
        }
    }

    /// Synchronizes stages: from now on they read the same times, and their messages have the same sequence numbers.
    pub fn side_by_side(all: &mut [Self]) {
        let sent = all.iter().map(|trial| trial.sent).max().unwrap_or(0);
        let skip = |trial: &Self, time| trial.worker.instance.host().stage_clock().skip_to(time);
        let time = all.iter().fold(0, |time, trial| skip(trial, time));
        for trial in all {
            trial.sent = sent;
            skip(trial, time);
        }
    }

    /// Creates a frame in the host's memory, filled by `fill`. `None`: out of memory.
    #[must_use]
    pub fn frame(&self, layout: impl Into<Layout>, fill: impl FnOnce(&mut [u8])) -> Option<Frame> {
        let pool = &self.worker.stage.run.services.pool;
        let mut frame = Frame::new(pool, layout, 0)?;
        let (size, bytes) = (frame.size(), frame.write()?);
        // SAFETY: the frame has `size` initialised bytes and no other reference.
        fill(unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), size) });
        Some(frame)
    }

    /// Returns a canceller for other threads.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(self.worker.watch.clone())
    }

    /// Deactivates and destroys the stage. Returns the number of frames that it leaked.
    pub fn end(self) -> usize {
        let Self {
            worker,
            plan,
            emitted_messages,
            ..
        } = self;
        worker.instance.destroy();
        lock(&emitted_messages.0).clear();
        plan.shared.services.pool.statistics().live
    }

    fn event(&mut self, event: abi::Event) -> TrialResult {
        let now = self.worker.stage.run.now();
        self.work(&Work::event(event, Descent::default(), now))
    }

    fn work(&mut self, work: &Work) -> TrialResult {
        let done = self.worker.process(work, None, None);
        let end = match done.outcome {
            Outcome::Fine => CallEnd::Fine,
            Outcome::End => CallEnd::Ended,
            Outcome::Stopped | Outcome::Lost | Outcome::Abandoned => CallEnd::Stopped,
            Outcome::Failed(_, text) if done.has_panicked => CallEnd::Panicked(text),
            Outcome::Failed(kind, text) => CallEnd::Failed(kind, text),
        };
        TrialResult {
            end,
            emitted: std::mem::take(&mut *lock(&self.emitted_messages.0)),
            worked: Duration::from_nanos(u64::try_from(done.worked_ns).unwrap_or(0)),
        }
    }
}

impl Canceller {
    /// Cancels the call in progress, if there is one.
    pub fn cancel(&self) {
        self.0.cancel_current(Reason::Stop);
    }
}
