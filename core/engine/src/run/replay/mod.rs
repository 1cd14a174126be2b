//! Replays a recorded run: each stage gets the recorded messages in the recorded order, and reads the recorded times. A
//! deterministic stage therefore emits the same messages, whatever the scheduling of threads.
//!
//! For stages that are not rerun (sources, and plugins with effects), the recorded messages are used ([`rerun`]).
//! [`verify`] compares the emitted messages with the recorded ones.

mod allowance;
mod ancestry;
mod pipeline;
mod rerun;
mod store;
pub mod verify;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use allowance::Allowance;
pub(crate) use allowance::CallGuard;
pub use allowance::Excess;
use ancestry::Ancestry;
use flowpipe_config::manifest::{Manifest, Port};
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::message::{MOST_HOPS, Message, Origin};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::{AboutStage, Call, Emitted, Taken};
use flowpipe_recording::{Recording, Topic};
use flowpipe_sync::lock;
pub use pipeline::{PlanError, ReplayOptions, Swap};
pub use rerun::{ALLOW_UNKNOWN, Allowed, Withheld};
use store::Store;

use crate::run::stage::Stage;
use crate::run::worker::Worker;

/// A replay of a recorded run.
pub struct Replay {
    recording: Arc<Recording>,
    /// By stage.
    parts: Vec<ReplayedStage>,
    /// The speed factor. `None`: as fast as possible.
    speed: Option<f64>,
    began: Instant,
    ancestry: Ancestry,
    /// By stage and plugin: the indices of the plugin's calls.
    calls_by_plugin: Vec<HashMap<usize, Vec<usize>>>,
    store: Mutex<Store>,
    arrived: Condvar,
    /// The limits of calls.
    allowance: Allowance,
    /// The number of calls that exceeded a limit, by stage and limit.
    exceeded: Mutex<BTreeMap<(usize, Excess), usize>>,
    /// The last sequence number given to a message that was not recorded. Higher than all recorded ones.
    unrecorded: AtomicU64,
}

/// One stage of a replay.
struct ReplayedStage {
    about: AboutStage,
    /// Its recorded calls, ordered by their start.
    calls: Vec<Call>,
    runs_again: bool,
    /// Descriptions of its effects when it is rerun.
    effects: Vec<String>,
    /// Why it is not rerun, if it could be expected to be.
    withheld: Option<Withheld>,
    /// It has another plugin than recorded: the recorded times do not limit it.
    is_swapped: bool,
    /// The index of the next call.
    next: AtomicUsize,
}

/// The message for a call.
pub(crate) enum Fetched {
    /// The message.
    Message(Arc<Message>),
    /// It is not available: the call is skipped.
    Skip,
}

/// How often a waiting stage checks whether the run is ending.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Replay {
    /// Whether a stage is rerun.
    #[must_use]
    pub fn runs_again(&self, stage: usize) -> bool {
        self.parts.get(stage).is_some_and(|part| part.runs_again)
    }

    /// The stages that are not rerun although they could be expected to be, and why.
    pub fn withheld(&self) -> impl Iterator<Item = (&str, &Withheld)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.about.name.as_str(), part.withheld.as_ref()?)))
    }

    /// Descriptions of the effects of rerun stages.
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

    /// The manifest of a stage that is not rerun, as far as it is recorded.
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

    /// The next call of a rerun stage, with its index. `None`: there are no more.
    pub(crate) fn next_call(&self, stage: usize) -> Option<(usize, &Call)> {
        let part = self.parts.get(stage)?;
        let number = part.next.fetch_add(1, Ordering::Relaxed);
        part.calls.get(number).map(|call| (number, call))
    }

    /// Whether a stage that is created now reads recorded times during its creation. The times are unknown for a stage
    /// that was created before the recording starts.
    pub(crate) fn reads_creation_times(&self, stage: usize) -> bool {
        let part = self.parts.get(stage);
        self.recording.about().since_ns.is_none()
            && part.is_some_and(|part| part.next.load(Ordering::Relaxed) == 0)
    }

    /// The times that a plugin read during its creation and its next call.
    pub(crate) fn next_times(&self, stage: usize, plugin: usize) -> &[i64] {
        let Some(part) = self.parts.get(stage) else {
            return &[];
        };
        let next = part.next.load(Ordering::Relaxed);
        if next == 0 && !self.reads_creation_times(stage) {
            return &[];
        }
        let calls = self
            .calls_by_plugin
            .get(stage)
            .and_then(|by_plugin| by_plugin.get(&plugin));
        let calls = calls.map_or(&[][..], Vec::as_slice);
        let call = calls.get(calls.partition_point(|&call| call < next));
        call.and_then(|&call| part.calls.get(call))
            .map_or(&[], |call| &call.clock)
    }

    /// Waits until a call is due, or until `over` returns true.
    pub(crate) fn pace(&self, call: &Call, over: impl Fn() -> bool) {
        let Some(speed) = self.speed else { return };
        let due = Duration::from_nanos(u64::try_from(call.taken_ns).unwrap_or(0)).div_f64(speed);
        while let Some(left) = due.checked_sub(self.began.elapsed())
            && !over()
        {
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }

    /// The message that a call took: emitted in this replay, or recorded.
    pub(crate) fn fetch(&self, taker: &Stage, taken: &Taken) -> Fetched {
        let topic = Topic::new(&taken.from, &taken.output);
        let known = self.ancestry.source(&topic, taken.sequence);
        let from = match known {
            Some(source) => Some(source.stage),
            // The call that emitted it had not returned when the recording ended.
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
                // All stages wait: no message will arrive.
                return Fetched::Skip;
            }
            let woken = self.arrived.wait_timeout(store, POLL_INTERVAL);
            store = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            store.end_wait(taker.index);
        }
    }

    /// Whether the recorder dropped lineages before a call.
    pub(crate) fn follows_a_gap(&self, call: &Call) -> bool {
        let first = self.recording.dropped_lineages().first();
        first.is_some_and(|dropped| dropped.at_ns <= call.ended_ns)
    }

    /// A sequence number for a message that was not recorded.
    pub(crate) fn new_sequence(&self) -> u64 {
        self.unrecorded.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Stores a message that a rerun stage has emitted.
    pub(crate) fn keep(&self, message: Arc<Message>) {
        let source = message.source();
        if let Some(topic) = self.topic(source) {
            lock(&self.store).keep(&topic, message);
            self.arrived.notify_all();
        }
    }

    /// Skips a call that can't be rerun: its recorded messages are used.
    pub(crate) fn skip(&self, stage: &Stage, number: usize, call: &Call) {
        self.keep_recorded(stage, call);
        lock(&self.store).skip(stage.index, number);
    }

    /// Starts to rerun a call. `Ok(None)`: it has no limits.
    ///
    /// # Errors
    /// When the allowance is used up.
    pub(crate) fn begin_call(
        &self,
        stage: &Arc<Stage>,
        worker: &Worker,
        call: &Call,
    ) -> Result<Option<CallGuard<'_>>, Excess> {
        let part = self.parts.get(stage.index);
        if part.is_some_and(|part| part.is_swapped) {
            return Ok(None);
        }
        // Further calls of the stage would take as much.
        if lock(&self.exceeded).contains_key(&(stage.index, Excess::Memory)) {
            return Err(Excess::Memory);
        }
        let recorded = allowance::length(call);
        let process = worker.instance.stage_process().map(|it| it.id());
        let guard = self
            .allowance
            .begin(stage, &worker.watch, process, recorded)?;
        Ok(Some(guard))
    }

    /// Replaces the output of a call that exceeded a limit by its recorded messages.
    pub(crate) fn substitute_recorded(&self, stage: &Stage, call: &Call, excess: Excess) {
        let calls = {
            let mut exceeded = lock(&self.exceeded);
            let calls = exceeded.entry((stage.index, excess)).or_default();
            *calls += 1;
            *calls
        };
        if calls == 1 {
            let (stage, what) = (&stage.settings.name, excess.description());
            tracing::warn!(
                stage,
                "a call was cancelled: it took {what}; its recorded messages are used instead"
            );
        }
        self.keep_recorded(stage, call);
    }

    /// The number of calls that exceeded a limit, by stage and limit.
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

    /// A stage has ended: it emits no more messages.
    pub(crate) fn end(&self, stage: usize) {
        lock(&self.store).end(stage);
        self.arrived.notify_all();
    }

    /// Whether a replay must emit a recorded message: its stage is rerun, and the call that emitted it is recorded.
    pub(crate) fn must_emit(&self, topic: &Topic, sequence: u64) -> bool {
        let source = self.ancestry.source(topic, sequence);
        source.is_some_and(|it| {
            self.runs_again(it.stage) && !lock(&self.store).was_skipped(it.stage, it.call)
        })
    }

    /// Whether the stage of an output is rerun.
    pub(crate) fn is_rerun_output(&self, topic: &Topic) -> bool {
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

    /// The number of skipped calls: pixels that they took are not in the recording, or a message never arrived.
    #[must_use]
    pub fn skipped(&self) -> usize {
        lock(&self.store).skipped()
    }

    /// The frame that the messages of a call without an input message descend from.
    pub(crate) fn last_origin(&self, call: &Call) -> Option<Origin> {
        self.origin(call.emitted.first()?)
    }

    /// Loads a recorded message.
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
