//! Runs a recorded run again: each stage gets the messages that it took then, in that order, and the
//! times that it was told then. So whatever the threads do, a stage that is deterministic gives the same
//! messages.
//!
//! Stages that are not run again (sources, and whatever has effects on the world) speak out of the recording ([`again`]).
//! [`verify`] holds what comes out against what is recorded.

mod again;
mod allowance;
mod ancestry;
mod pipeline;
mod store;
pub mod verify;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

pub use again::{ALLOW_UNKNOWN, Allowed, Withheld};
use allowance::Allowance;
pub use allowance::Excess;
pub(crate) use allowance::Turn;
use ancestry::Ancestry;
use flowpipe_config::manifest::{Manifest, Port};
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::{MOST_HOPS, Message, Origin};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::{AboutStage, Call, Emitted, Taken};
use flowpipe_recording::{Recording, Topic};
use flowpipe_sync::lock;
pub use pipeline::{PlanError, Swap, Wish};
use store::Store;

use crate::run::stage::Stage;
use crate::run::worker::Worker;

/// A recorded run, and which of its stages are run again.
pub struct Replay {
    recording: Arc<Recording>,
    /// By stage.
    parts: Vec<Part>,
    /// How often faster than it was; `None`: as fast as it goes.
    speed: Option<f64>,
    began: Instant,
    ancestry: Ancestry,
    /// By stage and plugin: the calls of the plugin, by their numbers.
    turns: Vec<HashMap<usize, Vec<usize>>>,
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
    calls: Vec<Call>,
    runs_again: bool,
    /// What it does to the world when it runs again, in words.
    effects: Vec<String>,
    /// Why it does not run again, where that could be expected.
    withheld: Option<Withheld>,
    /// Another plugin has its place: what is recorded says nothing of how long that takes.
    is_swapped: bool,
    /// The call that comes next.
    next: AtomicUsize,
}

/// What there is for a call to take.
pub(crate) enum Fetched {
    /// The message.
    Message(Arc<Message>),
    /// It can't be had: the call is left out.
    Skip,
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
        part.calls.get(number).map(|call| (number, call))
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
        let turns = self.turns.get(stage).and_then(|turns| turns.get(&plugin));
        let turns = turns.map_or(&[][..], Vec::as_slice);
        let turn = turns.get(turns.partition_point(|&call| call < next));
        turn.and_then(|&call| part.calls.get(call))
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

    /// The message that a call took: what a stage made of it this time, or what is recorded.
    pub(crate) fn fetch(&self, taker: &Stage, taken: &Taken) -> Fetched {
        let topic = Topic::new(&taken.from, &taken.output);
        let known = self.ancestry.source(&topic, taken.sequence);
        let from = match known {
            Some(source) => Some(source.stage),
            // The call that emitted it had not come back when the recording ended.
            None => self.index_of(&taken.from),
        };
        if !from.is_some_and(|from| self.runs_again(from)) {
            return match self.load(taker, &topic, taken.sequence) {
                Some(message) => Fetched::Message(message),
                None => Fetched::Skip,
            };
        }
        let from = from.unwrap_or_default();
        let mut store = lock(&self.store);
        loop {
            if let Some(message) = store.take(&topic, taken.sequence) {
                return Fetched::Message(message);
            }
            if store.has_ended(from) || taker.run.mode() >= Mode::Drop {
                return Fetched::Skip;
            }
            if !store.wait(taker.index) {
                // Everybody waits for somebody: nothing comes any more.
                return Fetched::Skip;
            }
            let woken = self.arrived.wait_timeout(store, LOOK);
            store = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            store.wait_no_more(taker.index);
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
        let source = message.source();
        if let Some(topic) = self.topic(source) {
            lock(&self.store).keep(&topic, message);
            self.arrived.notify_all();
        }
    }

    /// A call can't be run again: others get what it emitted then.
    pub(crate) fn skip(&self, stage: &Stage, number: usize, call: &Call) {
        self.keep_recorded(stage, call);
        lock(&self.store).skip(stage.index, number);
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
        let process = worker.instance.stage_process().map(|it| it.id());
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
            if let Some(message) = self.load(stage, &topic, emitted.sequence) {
                lock(&self.store).keep(&topic, message);
                self.arrived.notify_all();
            }
        }
    }

    /// A stage makes no more messages.
    pub(crate) fn end(&self, stage: usize) {
        lock(&self.store).end(stage);
        self.arrived.notify_all();
    }

    /// Whether a replay must give a recorded message: its stage is run again, and the call that emitted it is recorded.
    pub(crate) fn gives(&self, topic: &Topic, sequence: u64) -> bool {
        let source = self.ancestry.source(topic, sequence);
        source.is_some_and(|it| {
            self.runs_again(it.stage) && !lock(&self.store).was_skipped(it.stage, it.call)
        })
    }

    /// Whether the stage of an output is run again.
    pub(crate) fn is_of_a_stage_that_runs_again(&self, topic: &Topic) -> bool {
        let stage = self.index_of(&topic.stage);
        stage.is_some_and(|stage| self.runs_again(stage))
    }

    /// When a recorded message was emitted.
    pub(crate) fn emitted_at(&self, topic: &Topic, sequence: u64) -> Option<i64> {
        self.emitted(topic, sequence).map(|emitted| emitted.at_ns)
    }

    /// The name of an output.
    pub(crate) fn topic_of(&self, stage: usize, port: usize) -> Option<Topic> {
        self.topic(PortRef { stage, port })
    }

    /// How many calls could not be run again: the pixels that they took were left out of the recording, or a message never came.
    #[must_use]
    pub fn skipped(&self) -> usize {
        lock(&self.store).skipped()
    }

    /// The frame that the messages of a call without a message descended from.
    pub(crate) fn last_origin(&self, call: &Call) -> Option<Origin> {
        self.origin(call.emitted.first()?)
    }

    /// A message as it is recorded.
    fn load(&self, stage: &Stage, topic: &Topic, sequence: u64) -> Option<Arc<Message>> {
        let (schema, body) = self.recording.message(topic, sequence)?;
        let frame = match self.recording.has_pixels(topic, sequence) {
            true => Some(self.frame(stage, topic, sequence)?),
            false => None,
        };
        let source = self.port(topic)?;
        let emitted = self.emitted(topic, sequence);
        let body = flowpipe_host::document::Document::new(body.as_bytes()).ok()?;
        Some(Arc::new(Message {
            schema: std::ffi::CString::new(&**schema).ok()?.into(),
            body,
            frame,
            lineage: flowpipe_host::message::Lineage {
                sequence,
                origin: emitted.and_then(|emitted| self.origin(emitted)),
                hops: self.hops(topic, sequence),
                root: None,
            },
            source,
        }))
    }

    fn frame(
        &self,
        stage: &Stage,
        topic: &Topic,
        sequence: u64,
    ) -> Option<flowpipe_host::frame::Frame> {
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

    fn emitted(&self, topic: &Topic, sequence: u64) -> Option<&Emitted> {
        let source = self.ancestry.source(topic, sequence)?;
        self.call(source)?.emitted.get(source.emitted)
    }

    /// The recorded call that emitted a message.
    fn call(&self, source: ancestry::Source) -> Option<&Call> {
        self.parts.get(source.stage)?.calls.get(source.call)
    }

    /// The stages that a recorded message went through, oldest first.
    fn hops(&self, topic: &Topic, sequence: u64) -> Vec<flowpipe_abi::Hop> {
        let line = self.ancestry.line(topic, sequence).take(MOST_HOPS);
        let hop = |source: ancestry::Source| {
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
            stage: self.index_of(&origin.stage)?,
            sequence: origin.sequence,
            captured_ns: origin.captured_ns,
        })
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.about.name == name)
    }

    fn topic(&self, port: PortRef) -> Option<Topic> {
        let about = &self.parts.get(port.stage)?.about;
        Some(Topic::new(&about.name, &about.outputs.get(port.port)?.0))
    }

    fn port(&self, topic: &Topic) -> Option<PortRef> {
        let stage = self.index_of(&topic.stage)?;
        let outputs = &self.parts.get(stage)?.about.outputs;
        let port = outputs.iter().position(|(name, _)| *name == topic.port)?;
        Some(PortRef { stage, port })
    }
}
