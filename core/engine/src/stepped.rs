//! A pipeline on the caller's thread, one call after the other: for tests of pipelines.
//!
//! The same code calls the plugins as in a run, with the same validation and error messages. There are no queues, no
//! threads and no clock: messages are processed in the order in which they were emitted, and stages read times that are
//! the same each time. A stage that waits until a time goes on at once, and from then on all stages read that time or a
//! later one. So the same messages give the same results. Plugins that race are called in their order, until one has won.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::pipeline::{Edge, Isolation, OnError, Pipeline, PortRef};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::frame::Frame;
use flowpipe_host::instance::{CreateError, InProcess};
use flowpipe_host::message::{CapturedMessage, Descent, Message, Origin};
use flowpipe_host::stage_clock::StageClock;
use flowpipe_host::table::Host;
use flowpipe_sync::lock;

use crate::check::Judgement;
use crate::edge::Item;
use crate::edge::held_receipt::HeldReceipt;
use crate::run::journal::Journal;
use crate::run::outcome::{Done, Outcome};
use crate::run::plan::Plan;
use crate::run::race::{Entrant, Race};
use crate::run::stage::Stage;
use crate::run::work::Work;
use crate::run::worker::Worker;
use crate::run::{Observer, Options, StartError};
use crate::watch::{Reason, Watch};

/// The most messages that all stages may emit.
const MOST_MESSAGES: usize = 100_000;
/// The most bytes of their bodies, and of pixels that a stage creates.
const MOST_BYTES: usize = 256 << 20;
/// The most failures that are kept: a stage may fail on each message.
const MOST_FAILURES: usize = 1000;

/// An active pipeline, or a part of one.
pub struct SteppedRun {
    plan: Plan,
    edges: Vec<Edge>,
    /// By stage: none for those that don't run.
    stages: Vec<SteppedStage>,
    emitted: Arc<Emissions>,
    /// Emitted messages, each with the input that takes it.
    waiting: VecDeque<(PortRef, Arc<Message>)>,
    /// Emitted messages, for the caller.
    kept: Vec<(PortRef, Arc<Message>)>,
    /// By edge: the last number of a message that entered.
    entered: Vec<u64>,
    /// The time that stages read next, in nanoseconds.
    time: i64,
    canceller: SteppedCanceller,
    failures: Vec<StageFailure>,
    /// How many failures were not kept.
    unkept_failures: u64,
    /// Why it is over, if it is.
    over: Option<Over>,
}

/// A message that enters a pipeline.
#[derive(Debug)]
pub struct EnteringMessage {
    /// The id of its schema.
    pub schema: String,
    /// Its JSON.
    pub json: Vec<u8>,
    /// Its pixels.
    pub frame: Option<Frame>,
}

/// A stage that failed on messages, or at the end of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFailure {
    /// Its index in the pipeline.
    pub stage: usize,
    /// Its error.
    pub text: String,
    /// How often it failed so.
    pub times: u64,
}

/// Why a run is over before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// It was cancelled.
    Cancelled,
    /// A stage has failed whose `on_error` ends the run.
    Failed,
    /// The stages have emitted too much.
    TooMuch,
}

/// Cancels a run, from any thread.
#[derive(Clone, Default)]
pub struct SteppedCanceller {
    is_cancelled: Arc<AtomicBool>,
    watches: Arc<Mutex<Vec<Arc<Watch>>>>,
}

/// The plugins of a stage.
#[derive(Default)]
struct SteppedStage {
    workers: Vec<Worker>,
    /// The frame of its last message.
    descent: Descent,
    has_ended: bool,
}

/// Collects the messages that stages emit.
#[derive(Default)]
struct Emissions {
    messages: Mutex<SteppedMessages>,
    canceller: SteppedCanceller,
    is_too_much: AtomicBool,
}

#[derive(Default)]
struct SteppedMessages {
    /// Since the last call.
    new: Vec<(PortRef, Arc<Message>)>,
    count: usize,
    bytes: usize,
}

impl Observer for Emissions {
    fn message(&self, stage: usize, port: usize, message: &Arc<Message>) {
        let mut messages = lock(&self.messages);
        messages.count += 1;
        let pixels = message.frame().map_or(0, Frame::size);
        messages.bytes = messages.bytes.saturating_add(message.json().len() + pixels);
        if messages.count > MOST_MESSAGES || messages.bytes > MOST_BYTES {
            self.is_too_much.store(true, Ordering::Relaxed);
            self.canceller.cancel_current();
            return;
        }
        messages
            .new
            .push((PortRef { stage, port }, message.clone()));
    }
}

impl SteppedCanceller {
    /// Cancels the call in progress, and all that follow. A call that has just started may miss it: repeat it until the
    /// run returns.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.cancel_current();
    }

    /// Whether the run is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    fn cancel_current(&self) {
        for watch in &*lock(&self.watches) {
            watch.cancel_current(Reason::Stop);
        }
    }
}

impl SteppedRun {
    /// Creates and activates these stages of a pipeline, in a dry run. Of the options, the validators are used. The
    /// others don't run: messages enter as if they had sent them.
    ///
    /// # Errors
    /// When a plugin rejects its config, or fails to activate.
    pub fn new(
        mut pipeline: Pipeline,
        running: &BTreeSet<usize>,
        catalogue: &Catalogue,
        options: Options,
        canceller: SteppedCanceller,
    ) -> Result<Self, StartError> {
        let edges = std::mem::take(&mut pipeline.edges);
        for stage in &mut pipeline.stages {
            stage.workers = 1;
            stage.isolation = Isolation::Thread;
            stage.timeout = None;
            stage.watchdog = Duration::MAX;
        }
        let emitted = Arc::new(Emissions {
            canceller: canceller.clone(),
            ..Emissions::default()
        });
        let count = pipeline.stages.len();
        let options = Options {
            observers: vec![emitted.clone()],
            elsewhere: (0..count).filter(|it| !running.contains(it)).collect(),
            dry: true,
            ..options
        };
        let plan = Plan::new(pipeline, catalogue, options)?;
        let mut run = Self {
            entered: vec![0; edges.len()],
            edges,
            stages: Vec::new(),
            emitted,
            waiting: VecDeque::new(),
            kept: Vec::new(),
            time: 0,
            canceller,
            failures: Vec::new(),
            unkept_failures: 0,
            over: None,
            plan,
        };
        for index in 0..count {
            let found = run.plan.found[index].clone();
            let stage = run.plan.stages[index].clone();
            let mut created = SteppedStage::default();
            for (contestant, found) in found.iter().enumerate() {
                match worker(&stage, contestant, found) {
                    Ok(worker) => created.workers.push(worker),
                    Err(error) => {
                        run.stages.push(created);
                        run.end();
                        return Err(error);
                    }
                }
            }
            let watches = created.workers.iter().map(|worker| worker.watch.clone());
            lock(&run.canceller.watches).extend(watches);
            run.stages.push(created);
        }
        Ok(run)
    }

    /// Advances the time that stages read.
    pub fn advance_to(&mut self, time: Duration) {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 2);
        self.time = self.time.max(time.min(i64::MAX / 2));
    }

    /// Sends a message to an input, as if it came from the output that feeds it, and processes what comes of it.
    ///
    /// # Errors
    /// Why the message is refused.
    pub fn enter(
        &mut self,
        from: Option<PortRef>,
        to: PortRef,
        entering: EnteringMessage,
    ) -> Result<(), String> {
        let EnteringMessage {
            schema,
            json,
            frame,
        } = entering;
        let edge = self
            .edges
            .iter()
            .position(|edge| Some(edge.from) == from && edge.to == to);
        let number = match edge.and_then(|edge| self.entered.get_mut(edge)) {
            Some(last) => {
                *last += 1;
                *last
            }
            None => 1,
        };
        let mut message =
            Message::detached(&schema, &json).map_err(|error| format!("it is {error}"))?;
        message.source = from.unwrap_or(message.source);
        message.lineage.sequence = number;
        if frame.is_some() {
            message.lineage.origin = Some(Origin {
                stage: message.source.stage,
                sequence: number,
                captured_ns: self.time,
            });
            message.lineage.captured = Some(Arc::new(CapturedMessage {
                schema: message.schema.clone(),
                body: message.body.clone(),
            }));
        }
        message.frame = frame;
        self.judge(from, &message)?;
        if !self.takes(to, &message) {
            let content = message.content();
            return Err(format!("the input does not take {schema} with {content}"));
        }
        self.waiting.push_back((to, Arc::new(message)));
        self.drain();
        Ok(())
    }

    /// Ends the streams of all stages, one after the other, and processes what comes of it.
    pub fn finish(&mut self) {
        while self.over.is_none() {
            let Some(stage) = self.next_to_end() else {
                return;
            };
            self.stages[stage].has_ended = true;
            let now = self.plan.shared.now();
            let descent = self.stages[stage].descent.clone();
            self.call(stage, Work::event(abi::EVENT_FINISH, descent, now));
            self.drain();
        }
    }

    /// The messages that were emitted since this was called last, each with its output.
    pub fn take_emitted(&mut self) -> Vec<(PortRef, Arc<Message>)> {
        std::mem::take(&mut self.kept)
    }

    /// Which stages failed so far, and how: the first 1000 that differ.
    #[must_use]
    pub fn failures(&self) -> &[StageFailure] {
        &self.failures
    }

    /// How many failures differ from those that are kept.
    #[must_use]
    pub fn unkept_failures(&self) -> u64 {
        self.unkept_failures
    }

    /// Why it is over, if it is before its end.
    #[must_use]
    pub fn over(&self) -> Option<Over> {
        self.over
    }

    /// Deactivates and destroys the stages.
    pub fn end(self) {
        for worker in self.stages.into_iter().flat_map(|stage| stage.workers) {
            worker.instance.destroy();
        }
        self.plan.shared.checks.end();
    }

    /// Judges a message as one of an output.
    fn judge(&self, from: Option<PortRef>, message: &Message) -> Result<(), String> {
        let shared = &self.plan.shared;
        if let Some(schema) = shared.message_schema(message.schema()) {
            schema.check(message)?;
        }
        let stage = from.and_then(|from| self.plan.stages.get(from.stage));
        let output = stage
            .zip(from)
            .and_then(|(stage, from)| stage.outputs.get(from.port));
        let judgement = match output.filter(|output| output.schema.is_some()) {
            Some(output) => output.checks.judge(None, message),
            None => shared.checks.of_any(message.schema()).judge(None, message),
        };
        match judgement {
            Judgement::Refuse(reason) => Err(format!("it does not pass the checks: {reason}")),
            Judgement::Accept | Judgement::Weak(_) => Ok(()),
        }
    }

    fn takes(&self, to: PortRef, message: &Message) -> bool {
        let stage = self.plan.stages.get(to.stage);
        stage.is_some_and(|stage| stage.takes(to.port, message))
    }

    /// Processes all messages that wait.
    fn drain(&mut self) {
        while self.over.is_none()
            && let Some((to, message)) = self.waiting.pop_front()
        {
            if self.stages[to.stage].has_ended {
                continue;
            }
            let now = self.plan.shared.now();
            self.stages[to.stage].descent = message.lineage.descent();
            let item = Item {
                message,
                receipt: None,
            };
            self.call(to.stage, Work::message(to.port, item, now));
        }
    }

    /// The next stage whose stream ends: one that nothing feeds any more, or the first of a loop.
    fn next_to_end(&self) -> Option<usize> {
        let goes_on = |stage: usize| {
            let stage = self.stages.get(stage);
            stage.is_some_and(|it| !it.workers.is_empty() && !it.has_ended)
        };
        let is_fed = |stage: usize| {
            let mut edges = self.edges.iter();
            edges.any(|it| it.to.stage == stage && it.from.stage != stage && goes_on(it.from.stage))
        };
        let mut all = (0..self.stages.len()).filter(|&stage| goes_on(stage));
        let first = all.clone().next();
        all.find(|&stage| !is_fed(stage)).or(first)
    }

    /// Calls the plugins of a stage, and passes on what they emit.
    fn call(&mut self, index: usize, work: Work) {
        if self.canceller.is_cancelled() {
            self.over = Some(Over::Cancelled);
            return;
        }
        let stage = self.plan.stages[index].clone();
        let mut workers = std::mem::take(&mut self.stages[index].workers);
        for worker in &workers {
            worker.instance.host().stage_clock().skip_to(self.time);
        }
        let failed = match workers.as_mut_slice() {
            [worker] => failure(worker.process(&work, None, None)),
            workers => race(&stage, workers, work),
        };
        for worker in &workers {
            self.time = worker.instance.host().stage_clock().skip_to(self.time);
        }
        self.stages[index].workers = workers;
        self.pass_on();
        if self.emitted.is_too_much.load(Ordering::Relaxed) {
            self.over = Some(Over::TooMuch);
        } else if self.canceller.is_cancelled() {
            self.over = Some(Over::Cancelled);
        } else if let Some(text) = failed {
            self.fail(&stage, text);
        }
    }

    fn fail(&mut self, stage: &Stage, text: String) {
        if stage.settings.on_error == OnError::Stop {
            self.over = Some(Over::Failed);
        }
        let stage = stage.index;
        let mut kept = self.failures.iter_mut();
        if let Some(same) = kept.find(|it| it.stage == stage && it.text == text) {
            same.times += 1;
        } else if self.failures.len() < MOST_FAILURES {
            let times = 1;
            self.failures.push(StageFailure { stage, text, times });
        } else {
            self.unkept_failures += 1;
        }
    }

    /// Passes on what the last call has emitted.
    fn pass_on(&mut self) {
        let new = std::mem::take(&mut lock(&self.emitted.messages).new);
        for (from, message) in new {
            let edges = self.edges.iter().filter(|edge| edge.from == from);
            let inputs: Vec<_> = edges.map(|edge| edge.to).collect();
            // As in a run, it goes nowhere unless all inputs take it.
            if let Some(to) = inputs.iter().find(|to| !self.takes(**to, &message)) {
                let stage = self.plan.stages[from.stage].clone();
                let taker = &self.plan.stages[to.stage].settings.name;
                let text = format!(
                    "it emitted {} with {}, which {taker} does not take",
                    message.schema(),
                    message.content()
                );
                self.fail(&stage, text);
                continue;
            }
            for to in inputs {
                if !self.stages[to.stage].workers.is_empty() {
                    self.waiting.push_back((to, message.clone()));
                }
            }
            self.kept.push((from, message));
        }
    }
}

/// A plugin of a stage, active.
fn worker(stage: &Arc<Stage>, contestant: usize, found: &Found) -> Result<Worker, StartError> {
    let refuse = |step, error: CreateError| StartError::Plugin {
        stage: stage.settings.name.clone(),
        plugin: found.manifest.name.clone(),
        step,
        is_bad_config: matches!(error, CreateError::BadConfig(_)),
        reason: error.to_string(),
    };
    let host = Host::new(
        &stage.settings.name,
        stage.index as u32,
        stage.run.services.clone(),
        StageClock::Simulated(0.into()),
    );
    let config = stage.settings.contestants.get(contestant);
    let config = config.map_or(&serde_json::Value::Null, |it| &it.config);
    let mut instance =
        InProcess::create(found, config, host).map_err(|error| refuse("start", error))?;
    if let Err(reason) = instance.activate(&*stage.run) {
        instance.destroy();
        return Err(refuse("activate", reason));
    }
    Ok(Worker {
        slot: stage.worker_id(0).slot(contestant),
        stage: stage.clone(),
        watch: Arc::new(Watch::default()),
        instance,
        may_have_failed: false,
    })
}

/// Calls plugins that race, one after the other, until one has won. Returns why all failed.
fn race(stage: &Stage, workers: &mut [Worker], work: Work) -> Option<String> {
    let watches = workers.iter().enumerate();
    let watches = watches.map(|(contestant, worker)| (contestant, worker.watch.clone()));
    let race = Race::new(work, watches.collect());
    let mut failures = Vec::new();
    let mut has_abstained = false;
    for (contestant, worker) in workers.iter_mut().enumerate() {
        let entrant = Entrant {
            race: &race,
            contestant,
        };
        let done = worker.process(&race.work, Some(entrant), None);
        match failure(done) {
            Some(text) => failures.push((contestant, text)),
            None => has_abstained = true,
        }
        if race.winner().is_some() {
            break;
        }
    }
    let winner = race.winner();
    if let Some(weak) = race.close() {
        let (watch, none) = (Watch::default(), HeldReceipt::default());
        for (port, message) in weak.answers {
            stage.send(&watch, port, message, &none, None, &Journal::default());
        }
        return None;
    }
    if winner.is_none() && !has_abstained && !failures.is_empty() {
        let reasons = failures.iter();
        let reasons = reasons.map(|(it, text)| format!("{}: {text}", stage.plugin(*it)));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        return Some(format!("no contestant answered ({reasons})"));
    }
    let of_winner = failures.into_iter().find(|(it, _)| Some(*it) == winner);
    of_winner.map(|(_, text)| text)
}

/// Why a call failed.
fn failure(done: Done) -> Option<String> {
    match done.outcome {
        Outcome::Failed(_, text) => Some(text),
        Outcome::Fine | Outcome::End | Outcome::Stopped | Outcome::Lost | Outcome::Abandoned => {
            None
        }
    }
}
