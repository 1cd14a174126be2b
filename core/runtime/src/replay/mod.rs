//! Runs a recorded run again: each stage gets the messages that it took then, in that order, and the
//! times that it was told then. So whatever the threads do, a stage that is deterministic gives the same
//! messages.
//!
//! Stages that are not run again (sources, and whatever has effects on the world) speak out of the recording ([`again`]).
//! [`verify`] holds what comes out against what is recorded.

mod again;
mod allowance;
mod ancestry;
mod gaps;
mod outputs;
mod pipeline;
mod store;
mod turns;
pub mod verify;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use flowpipe_recording::entry::{AboutStage, Call, Emitted};
use flowpipe_recording::{Recording, Topic};

use crate::manifest::{Manifest, Port};
use crate::message::{MOST_HOPS, Message, Origin};
use crate::pipeline::PortRef;
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::worker::Worker;
use crate::sync::lock;

pub use again::{ALLOW_UNKNOWN, Allowed, Withheld};
use allowance::Allowance;
pub use allowance::Excess;
pub(crate) use allowance::Turn;
use ancestry::{Ancestry, MessageKey, Source};
use gaps::Gaps;
pub(crate) use outputs::OutputId;
use outputs::Outputs;
pub use pipeline::{PlanError, Swap, Wish};
use store::Store;
use turns::Turns;

/// A recorded run, and which of its stages are run again.
pub struct Replay {
    recording: Arc<Recording>,
    /// By stage.
    parts: Vec<Part>,
    /// How often faster than it was; `None`: as fast as it goes.
    speed: Option<f64>,
    began: Instant,
    outputs: Outputs,
    ancestry: Ancestry,
    gaps: Gaps,
    /// By stage: the calls of each plugin.
    turns: Vec<Turns>,
    store: Mutex<Store>,
    arrived: Condvar,
    /// What calls may take.
    allowance: Allowance,
    /// The calls that took more, by stage and why.
    exceeded: Mutex<BTreeMap<(usize, Excess), usize>>,
    /// The last number given to a message that is not recorded: beyond all that are.
    unrecorded: AtomicU64,
}

/// One stage of it.
struct Part {
    about: AboutStage,
    /// Its recorded calls, in the order in which they began.
    calls: Vec<Arc<Call>>,
    runs_again: bool,
    /// What it does to the world when it runs again, in words.
    effects: Vec<String>,
    /// Why it does not run again, where that could be expected.
    withheld: Option<Withheld>,
    /// Another plugin has its place: what is recorded says nothing of how long that takes.
    is_swapped: bool,
    /// The call that comes next.
    next: AtomicUsize,
    /// Its plugin took more than it may and did not heed that it was cancelled: the recording speaks for the rest.
    is_abandoned: AtomicBool,
}

/// What there is for a call to take.
pub(crate) enum Fetched {
    /// The message.
    Message(Arc<Message>),
    /// It can't be had: the call is left out. Whether the recording says why.
    Skip { is_explained: bool },
}

/// What a replay must make of a recorded message.
pub(crate) enum Expected {
    /// The same message.
    Message,
    /// Nothing: the call that emitted it is not recorded, or could not be run again. Whether the recording says why.
    Nothing { is_explained: bool },
}

/// How often a waiting stage looks whether the run is to end.
const LOOK: Duration = Duration::from_millis(20);

impl Replay {
    /// Whether the calls of a stage are run again.
    #[must_use]
    pub fn runs_again(&self, stage: usize) -> bool {
        self.parts.get(stage).is_some_and(|part| part.runs_again)
    }

    /// The stages that speak out of the recording although they might be expected to run again, and why.
    pub fn withheld(&self) -> impl Iterator<Item = (&str, &Withheld)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.about.name.as_str(), part.withheld.as_ref()?)))
    }

    /// What stages that run again do to the world, in words.
    pub fn effects(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.parts.iter();
        parts.flat_map(|part| {
            let effects = part.effects.iter();
            effects.map(|effect| (part.about.name.as_str(), effect.as_str()))
        })
    }

    /// The recording.
    #[must_use]
    pub fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// What a stage that is not run again says of itself.
    pub(crate) fn manifest(&self, stage: usize) -> Manifest {
        let Some(part) = self.parts.get(stage) else {
            return Manifest::default();
        };
        let port = |name: &String, schema: &str| Port {
            name: name.clone(),
            schema: schema.to_owned(),
        };
        let about = &part.about;
        Manifest {
            name: about.name.clone(),
            role: about.role.clone(),
            inputs: about.inputs.iter().map(|name| port(name, "*")).collect(),
            outputs: about
                .outputs
                .iter()
                .map(|(name, schema)| port(name, schema))
                .collect(),
            ..Manifest::default()
        }
    }

    /// The next call of a stage that is run again, with its number. `None`: there are no more.
    pub(crate) fn next_call(&self, stage: usize) -> Option<(usize, &Call)> {
        let part = self.parts.get(stage)?;
        let number = part.next.fetch_add(1, Ordering::Relaxed);
        part.calls.get(number).map(|call| (number, &**call))
    }

    /// Whether a stage that is made now is told the times of the recorded one while it is made: those of one that was made
    /// before the recording begins are not known.
    pub(crate) fn begins(&self, stage: usize) -> bool {
        let part = self.parts.get(stage);
        self.recording.about().since_ns.is_none()
            && part.is_some_and(|part| part.next.load(Ordering::Relaxed) == 0)
    }

    /// The times that a plugin which is made now was told while it was made and in its next call.
    pub(crate) fn next_times(&self, stage: usize, plugin: usize) -> &[i64] {
        let Some(part) = self.parts.get(stage) else {
            return &[];
        };
        let next = part.next.load(Ordering::Relaxed);
        if next == 0 && !self.begins(stage) {
            return &[];
        }
        let turn = self.turns.get(stage);
        let turn = turn.and_then(|turns| turns.next(plugin, next));
        turn.and_then(|call| part.calls.get(call))
            .map_or(&[], |call| &call.clock)
    }

    /// Waits until it is time for a call, or until `over`.
    pub(crate) fn pace(&self, call: &Call, over: impl Fn() -> bool) {
        let Some(speed) = self.speed else { return };
        let due = Duration::from_nanos(u64::try_from(call.taken_ns).unwrap_or(0)).div_f64(speed);
        while let Some(left) = due.checked_sub(self.began.elapsed())
            && !over()
        {
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// The message that a call took, if it took one: what a stage made of it this time, or what is recorded.
    pub(crate) fn fetch(&self, taker: &Stage, number: usize, call: &Call) -> Fetched {
        let took = call.took.as_ref();
        let took = took.and_then(|it| self.ancestry.took(taker.index, number, it.sequence));
        let Some(key) = took else {
            return Fetched::Skip {
                is_explained: false,
            };
        };
        let from = self.ancestry.source(key).map(|source| source.stage);
        let Some(from) = from.filter(|&from| self.runs_again(from)) else {
            // Nobody makes it anew: its stage is not run again, or the call that emitted it is not recorded.
            return self.recorded(taker, key);
        };
        let mut store = lock(&self.store);
        loop {
            if let Some(message) = store.take(key) {
                return Fetched::Message(message);
            }
            if self.is_abandoned(from) {
                drop(store);
                return self.recorded(taker, key);
            }
            // Where it does not come any more although it is recorded, that is a difference of its own. So it is when everybody
            // waits for somebody.
            if store.has_ended(from) || taker.run.mode() >= Mode::Drop || !store.wait(taker.index) {
                return Fetched::Skip { is_explained: true };
            }
            let woken = self.arrived.wait_timeout(store, LOOK);
            store = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            store.wait_no_more(taker.index);
        }
    }

    /// A message as it is recorded, or whether the recording says why it is not.
    fn recorded(&self, taker: &Stage, key: MessageKey) -> Fetched {
        if let Some(message) = self.load(taker, key) {
            return Fetched::Message(message);
        }
        let topic = self.outputs.topic(key.output);
        let is_left_out = topic.is_some_and(|it| self.recording.is_left_out(it, key.sequence));
        Fetched::Skip {
            is_explained: is_left_out || self.gaps.explain_message(),
        }
    }

    /// Whether the recorder had dropped lineages before a call.
    pub(crate) fn follows_a_gap(&self, call: &Call) -> bool {
        let first = self.recording.dropped_lineages().first();
        first.is_some_and(|dropped| dropped.at_ns <= call.ended_ns)
    }

    /// A number for a message that was not recorded.
    pub(crate) fn new_number(&self) -> u64 {
        self.unrecorded.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A stage that is run again has emitted a message.
    pub(crate) fn keep(&self, message: Arc<Message>) {
        if let Some(output) = self.outputs.of_port(message.source()) {
            let key = self.ancestry.key(output, message.lineage().sequence);
            if lock(&self.store).keep(key, message) {
                self.arrived.notify_all();
            }
        }
    }

    /// A call can't be run again: others get what it emitted then. `is_explained`: the recording says why.
    pub(crate) fn skip(&self, stage: &Stage, number: usize, call: &Call, is_explained: bool) {
        self.keep_recorded(stage, call);
        lock(&self.store).skip(stage.index, number, is_explained);
    }

    /// The plugin of a stage was left behind in a call: if that was cancelled because it took more than it may, the recording
    /// speaks for this call and for all that come after it. What it took.
    pub(crate) fn abandon(&self, stage: &Stage) -> Option<Excess> {
        let excess = self.allowance.abandon(stage)?;
        let part = self.parts.get(stage.index)?;
        part.is_abandoned.store(true, Ordering::SeqCst);
        let current = part.next.load(Ordering::Relaxed).saturating_sub(1);
        let rest = part.calls.len().saturating_sub(current);
        *lock(&self.exceeded)
            .entry((stage.index, excess))
            .or_default() += rest;
        self.arrived.notify_all();
        Some(excess)
    }

    fn is_abandoned(&self, stage: usize) -> bool {
        let part = self.parts.get(stage);
        part.is_some_and(|part| part.is_abandoned.load(Ordering::SeqCst))
    }

    /// A call is about to run again. `Ok(None)`: it may take what it likes.
    ///
    /// # Errors
    /// When nothing is left for it.
    pub(crate) fn begin_call(
        &self,
        stage: &Arc<Stage>,
        worker: &Worker,
        call: &Call,
    ) -> Result<Option<Turn<'_>>, Excess> {
        let part = self.parts.get(stage.index);
        if part.is_some_and(|part| part.is_swapped) {
            return Ok(None);
        }
        // What took so much once would do so again.
        if lock(&self.exceeded).contains_key(&(stage.index, Excess::Memory)) {
            return Err(Excess::Memory);
        }
        let recorded = allowance::length(call);
        let process = worker.instance.process_id();
        let turn = self
            .allowance
            .begin(stage, &worker.watch, process, recorded)?;
        Ok(Some(turn))
    }

    /// A call took more than it may: others get what it emitted when it was recorded.
    pub(crate) fn speak_for(&self, stage: &Stage, call: &Call, excess: Excess) {
        let calls = {
            let mut exceeded = lock(&self.exceeded);
            let calls = exceeded.entry((stage.index, excess)).or_default();
            *calls += 1;
            *calls
        };
        if calls == 1 {
            let (stage, what) = (&stage.settings.name, excess.words());
            tracing::warn!(
                stage,
                "a call that ran again was cancelled: it took {what}; the recording speaks for it"
            );
        }
        self.keep_recorded(stage, call);
    }

    /// How many calls of which stage took more than they may, and of what.
    pub fn exceeded(&self) -> Vec<(&str, Excess, usize)> {
        let exceeded = lock(&self.exceeded);
        let name = |(&(stage, excess), &calls): (&(usize, Excess), &usize)| {
            Some((self.parts.get(stage)?.about.name.as_str(), excess, calls))
        };
        exceeded.iter().filter_map(name).collect()
    }

    fn keep_recorded(&self, stage: &Stage, call: &Call) {
        for emitted in &call.emitted {
            let topic = Topic::new(&call.stage, &emitted.port);
            let Some(output) = self.outputs.find(&topic) else {
                continue;
            };
            let key = self.ancestry.key(output, emitted.sequence);
            // What nobody takes is not read.
            if !lock(&self.store).wants(key) {
                continue;
            }
            if let Some(message) = self.load(stage, key) {
                lock(&self.store).keep(key, message);
                self.arrived.notify_all();
            }
        }
    }

    /// A stage makes no more messages.
    pub(crate) fn end(&self, stage: usize) {
        lock(&self.store).end(stage);
        self.arrived.notify_all();
    }

    /// What a replay must make of a recorded message of a stage that is run again.
    pub(crate) fn expects(&self, output: OutputId, sequence: u64, at_ns: i64) -> Expected {
        let source = self.ancestry.source(self.ancestry.key(output, sequence));
        let Some(source) = source else {
            let stage = self.outputs.stage(output);
            let is_explained = stage.is_some_and(|it| self.gaps.explain_call(it, at_ns));
            return Expected::Nothing { is_explained };
        };
        match lock(&self.store).skipped(source.stage, source.call) {
            None => Expected::Message,
            Some(is_explained) => Expected::Nothing { is_explained },
        }
    }

    /// Whether the stage of an output is run again.
    pub(crate) fn is_of_a_stage_that_runs_again(&self, output: OutputId) -> bool {
        let stage = self.outputs.stage(output);
        stage.is_some_and(|stage| self.runs_again(stage))
    }

    /// When a recorded message was emitted.
    pub(crate) fn emitted_at(&self, output: OutputId, sequence: u64) -> Option<i64> {
        let source = self.ancestry.source(self.ancestry.key(output, sequence))?;
        self.emitted(source).map(|emitted| emitted.at_ns)
    }

    /// The number of an output of a stage.
    pub(crate) fn output_of(&self, stage: usize, port: usize) -> Option<OutputId> {
        self.outputs.of_port(PortRef { stage, port })
    }

    /// The number of an output of this name. `None`: no stage has it, and no call names it.
    pub(crate) fn find_output(&self, topic: &Topic) -> Option<OutputId> {
        self.outputs.find(topic)
    }

    /// The name of an output.
    pub(crate) fn topic(&self, output: OutputId) -> Option<&Topic> {
        self.outputs.topic(output)
    }

    /// How many calls could not be run again: the pixels that they took were left out of the recording, or a message never came.
    #[must_use]
    pub fn skipped(&self) -> usize {
        lock(&self.store).count_skipped(|_| true)
    }

    /// How many of these the recording does not explain.
    #[must_use]
    pub fn skipped_without_reason(&self) -> usize {
        lock(&self.store).count_skipped(|is_explained| !is_explained)
    }

    /// The frame that the messages of a call without a message descended from.
    pub(crate) fn last_origin(&self, call: &Call) -> Option<Origin> {
        self.origin(call.emitted.first()?)
    }

    /// A message as it is recorded.
    fn load(&self, stage: &Stage, key: MessageKey) -> Option<Arc<Message>> {
        let MessageKey {
            output, sequence, ..
        } = key;
        let source = self.ancestry.source(key);
        let topic = self.outputs.topic(output)?;
        let (schema, body) = self.recording.message(topic, sequence)?;
        let frame = match self.recording.has_pixels(topic, sequence) {
            true => Some(self.frame(stage, topic, sequence)?),
            false => None,
        };
        let emitted = source.and_then(|source| self.emitted(source));
        let body = crate::document::Document::new(body.as_bytes()).ok()?;
        Some(Arc::new(Message {
            schema: std::ffi::CString::new(&**schema).ok()?.into(),
            body,
            frame,
            lineage: crate::message::Lineage {
                sequence,
                origin: emitted.and_then(|emitted| self.origin(emitted)),
                hops: self.hops(source),
                root: None,
            },
            source: self.outputs.port(output)?,
        }))
    }

    fn frame(&self, stage: &Stage, topic: &Topic, sequence: u64) -> Option<crate::frame::Frame> {
        let pool = &stage.run.services.pool;
        let owner = stage.index as u32;
        let read = self
            .recording
            .pixels(topic, sequence, |pixels| store::frame(pool, owner, pixels));
        match read {
            Ok(frame) => frame.flatten(),
            Err(error) => {
                tracing::warn!("{error}");
                None
            }
        }
    }

    fn emitted(&self, source: Source) -> Option<&Emitted> {
        self.call(source)?.emitted.get(source.emitted)
    }

    /// The recorded call that emitted a message.
    fn call(&self, source: Source) -> Option<&Call> {
        let calls = &self.parts.get(source.stage)?.calls;
        calls.get(source.call).map(|call| &**call)
    }

    /// The stages that a recorded message went through, oldest first.
    fn hops(&self, source: Option<Source>) -> Vec<flowpipe_abi::Hop> {
        let line = self.ancestry.line(source).take(MOST_HOPS);
        let hop = |source: Source| {
            let call = self.call(source)?;
            Some(flowpipe_abi::Hop {
                stage: source.stage as u32,
                reserved: 0,
                taken_ns: call.taken_ns,
                emitted_ns: call.emitted.get(source.emitted).map_or(0, |it| it.at_ns),
            })
        };
        let mut hops: Vec<_> = line.map_while(hop).collect();
        hops.reverse();
        hops
    }

    fn origin(&self, emitted: &Emitted) -> Option<Origin> {
        let origin = emitted.origin.as_ref()?;
        Some(Origin {
            stage: self.outputs.stage_named(&origin.stage)?,
            sequence: origin.sequence,
            captured_ns: origin.captured_ns,
        })
    }
}
