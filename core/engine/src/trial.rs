//! A single stage outside of a pipeline: for tools that try plugins.
//!
//! It is called as in a run, by the same code: what it emits is checked, what it says is put in the same
//! words. There are no queues, no watchdog and no thread: whoever calls is the stage's thread, and waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::{Contestant, Isolation, OnError, OnStop, Pipeline, Stage};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::document::DocumentError;
use flowpipe_host::frame::{Frame, Shape};
use flowpipe_host::instance::InProcess;
pub use flowpipe_host::instance::state::State;
use flowpipe_host::message::{Lineage, Message, Origin};
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::status::{PANICKED, reason};
use flowpipe_host::table::{self, Host};
use flowpipe_sync::lock;
use serde_json::Value;

use crate::run::outcome::Outcome;
use crate::run::plan::Plan;
use crate::run::worker::{Work, Worker};
use crate::run::{Observer, Options, StartError};
use crate::watch::{Reason, Watch};

/// Bytes that each trial leaves in memory on purpose: a plugin's pointer to its host stays valid. As the allocator of
/// glibc counts them.
pub const LEFT_BY_EACH: u64 = table::LEAKED_BYTES;

/// A stage that is made and active.
pub struct Trial {
    worker: Worker,
    plan: Plan,
    caught: Arc<Caught>,
    sent: u64,
}

/// What came of one call.
#[derive(Debug)]
pub struct Tried {
    /// How the call ended.
    pub end: End,
    /// What it emitted, in order, by output.
    pub emitted: Vec<(usize, Arc<Message>)>,
    /// How long it took, without waits that it asked for.
    pub worked: Duration,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Fine,
    /// The stage has nothing more to give.
    Ended,
    /// It gave up because it was told to.
    Stopped,
    /// It caught a panic of its own, told in words.
    Panicked(String),
    /// It failed, in words.
    Failed(ProblemKind, String),
}

/// What came of handing over what another stage remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It has it.
    Taken,
    /// It does not know the format.
    Unknown,
    /// It caught a panic of its own, told in words.
    Panicked(String),
    /// It can't use it, in words.
    Refused(String),
}

/// Cancels the call in progress, from any thread.
#[derive(Clone)]
pub struct Canceller(Arc<Watch>);

/// What the stage emitted.
#[derive(Default)]
struct Caught(Mutex<Vec<(usize, Arc<Message>)>>);

impl Observer for Caught {
    fn message(&self, _: usize, port: usize, message: &Arc<Message>) {
        lock(&self.0).push((port, message.clone()));
    }
}

impl Trial {
    /// Makes and activates a stage. Of the options, the checks and whether it is dry are used. The stage is told
    /// times that are the same in each trial, also of when its frames were captured.
    ///
    /// # Errors
    /// What the plugin says of its config, or of getting ready.
    pub fn new(found: &Found, config: Value, mut options: Options) -> Result<Self, StartError> {
        let caught = Arc::new(Caught::default());
        options.observers = vec![caught.clone()];
        let stage = Stage {
            name: found.manifest.name.clone(),
            contestants: vec![Contestant {
                plugin: found.manifest.name.clone(),
                config,
            }],
            timeout: None,
            on_error: OnError::Skip,
            watchdog: Duration::MAX,
            fresh: false,
            isolation: Isolation::Thread,
            restart: None,
        };
        let pipeline = Pipeline {
            name: "trial".to_owned(),
            stages: vec![stage],
            edges: Vec::new(),
            on_stop: OnStop::Drop,
            record: None,
        };
        let plan = Plan::new(pipeline, &Catalogue::from(found.clone()), options)?;
        let stage = plan.stages[0].clone();
        let refuse = |step, reason| StartError::Plugin {
            stage: found.manifest.name.clone(),
            plugin: found.manifest.name.clone(),
            step,
            reason,
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
            .map_err(|reason| refuse("create", reason))?;
        if let Err(reason) = instance.activate(&*stage.run) {
            instance.destroy();
            return Err(refuse("activate", reason));
        }
        let watch = Arc::new(Watch::default());
        let worker = Worker {
            stage,
            contestant: 0,
            watch,
            instance,
            may_have_failed: false,
        };
        Ok(Self {
            worker,
            plan,
            caught,
            sent: 0,
        })
    }

    /// Hands over a message.
    ///
    /// # Errors
    /// When the body is not JSON in UTF-8: such a one never reaches a plugin.
    pub fn message(
        &mut self,
        port: usize,
        schema: &str,
        json: &[u8],
        frame: Option<Frame>,
    ) -> Result<Tried, DocumentError> {
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
                hops: Vec::new(),
                root: None,
            },
            ..Message::detached(schema, json)?
        };
        let now = self.worker.stage.run.now();
        Ok(self.work(&Work::message(port, Arc::new(message), now)))
    }

    /// Lets a source produce.
    pub fn tick(&mut self) -> Tried {
        self.event(abi::EVENT_TICK)
    }

    /// Tells the stage that its inputs have ended.
    pub fn finish(&mut self) -> Tried {
        self.event(abi::EVENT_FINISH)
    }

    /// Makes the stage forget what earlier messages left behind.
    ///
    /// # Errors
    /// What the stage says.
    pub fn reset(&mut self) -> Result<(), String> {
        match self.worker.instance.reset() {
            abi::OK => Ok(()),
            status => Err(reason(status, self.worker.instance.host())),
        }
    }

    /// What the stage remembers. `None`: it hands nothing over.
    ///
    /// # Errors
    /// What the stage says.
    pub fn save(&mut self) -> Option<Result<State, String>> {
        let limits = self.worker.stage.limits();
        self.worker.instance.save(&limits).transpose()
    }

    /// Hands over what another stage remembers; the border has it that this one has got no message yet.
    pub fn load(&mut self, state: &State) -> Taken {
        let limits = self.worker.stage.limits();
        match self.worker.instance.load(state, &limits) {
            Ok(true) => Taken::Taken,
            Ok(false) => Taken::Unknown,
            Err(text) if text.starts_with(PANICKED) => Taken::Panicked(text),
            Err(text) => Taken::Refused(text),
        }
    }

    /// Puts stages at the same place of a run: they are told the same times from now on, and their messages have
    /// the same numbers.
    pub fn side_by_side(all: &mut [Self]) {
        let sent = all.iter().map(|trial| trial.sent).max().unwrap_or(0);
        let skip = |trial: &Self, time| trial.worker.instance.host().stage_clock().skip_to(time);
        let time = all.iter().fold(0, |time, trial| skip(trial, time));
        for trial in all {
            trial.sent = sent;
            skip(trial, time);
        }
    }

    /// A frame of the host's memory, filled by `fill`. `None` when memory is short.
    #[must_use]
    pub fn frame(&self, shape: Shape, fill: impl FnOnce(&mut [u8])) -> Option<Frame> {
        let pool = &self.worker.stage.run.services.pool;
        let mut frame = Frame::new(pool, shape, 0)?;
        let pixels = frame.write()?;
        // SAFETY: the frame has `size` initialised bytes and no other reference.
        fill(unsafe { std::slice::from_raw_parts_mut(pixels.as_ptr(), shape.size()) });
        Some(frame)
    }

    /// How many frames live, also those that were handed over.
    #[must_use]
    pub fn living_frames(&self) -> usize {
        self.worker.stage.run.services.pool.statistics().live
    }

    /// For another thread.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(self.worker.watch.clone())
    }

    /// Deactivates and destroys the stage. Returns how many frames it left behind.
    pub fn end(self) -> usize {
        let Self {
            worker,
            plan,
            caught,
            ..
        } = self;
        worker.instance.destroy();
        lock(&caught.0).clear();
        plan.shared.services.pool.statistics().live
    }

    fn event(&mut self, event: abi::Event) -> Tried {
        let now = self.worker.stage.run.now();
        self.work(&Work::event(event, None, now))
    }

    fn work(&mut self, work: &Work) -> Tried {
        let done = self.worker.process(work, None, None);
        let end = match done.outcome {
            Outcome::Fine => End::Fine,
            Outcome::End => End::Ended,
            Outcome::Stopped | Outcome::Lost | Outcome::GivenUp => End::Stopped,
            Outcome::Failed(_, text) if text.starts_with(PANICKED) => End::Panicked(text),
            Outcome::Failed(kind, text) => End::Failed(kind, text),
        };
        Tried {
            end,
            emitted: std::mem::take(&mut *lock(&self.caught.0)),
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
