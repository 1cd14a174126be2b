//! Replays a recorded run: each stage gets the recorded messages in the recorded order, and reads the recorded times. A
//! deterministic stage therefore emits the same messages, whatever the scheduling of threads.
//!
//! For stages that are not rerun (sources, and plugins with effects), the recorded messages are used ([`rerun`]).
//! [`verify`] compares the emitted messages with the recorded ones.

mod allowance;
mod ancestry;
mod error;
pub(crate) mod fed_inputs;
mod gaps;
mod options;
mod outputs;
mod pipeline;
mod replayed_stage;
mod rerun;
mod starvation;
mod store;
mod turns;
pub mod verify;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use allowance::Allowance;
pub(crate) use allowance::CallGuard;
pub use allowance::Excess;
use ancestry::{Ancestry, MessageKey, Source};
pub use error::PlanError;
use flowpipe_config::manifest::{Carried, Manifest, Port};
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::document::Document;
use flowpipe_host::message::{CapturedMessage, Descent, Hops, MOST_HOPS, Message, Origin};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::{Call, Emitted};
use flowpipe_recording::{Recording, Topic};
use flowpipe_sync::lock;
use gaps::Gaps;
pub use options::{Allowed, ReplayOptions, Swap};
pub(crate) use outputs::OutputId;
use outputs::ReplayOutputs;
use replayed_stage::ReplayedStage;
pub use rerun::{ALLOW_UNKNOWN, NotRerunReason};
use store::{Content, Kept, Store};
use turns::Turns;

use crate::payload;
use crate::run::stage::Stage;
use crate::run::worker::Worker;
use crate::supervisor::Slot;

/// A replay of a recorded run.
pub struct Replay {
    recording: Arc<Recording>,
    /// By stage.
    parts: Vec<ReplayedStage>,
    /// The speed factor. `None`: as fast as possible.
    speed: Option<f64>,
    began: Instant,
    outputs: ReplayOutputs,
    ancestry: Ancestry,
    gaps: Gaps,
    /// By stage: the calls of each plugin of each worker.
    turns: Vec<Turns>,
    store: Mutex<Store>,
    arrived: Condvar,
    /// The message of the frame that was asked for last: most calls after one descend from the same frame.
    captured: Mutex<Option<(Origin, Arc<CapturedMessage>)>>,
    /// The limits of calls.
    allowance: Allowance,
    /// The number of calls that exceeded a limit, by stage and limit.
    exceeded: Mutex<BTreeMap<(usize, Excess), usize>>,
    /// The last sequence number given to a message that was not recorded. Higher than all recorded ones.
    unrecorded: AtomicU64,
}

/// The message for a call.
pub(crate) enum Fetched {
    /// The message.
    Message(Arc<Message>),
    /// It is not available: the call is skipped. `is_explained`: the recording gives the reason.
    Skip { is_explained: bool },
    /// The replay was stopped.
    Stopped,
}

/// What a replay must emit for a recorded message.
pub(crate) enum Expected {
    /// The same message. `exceeds`: its call exceeded a limit, or was not made since one was exceeded.
    Message { exceeds: bool },
    /// Nothing: the call that emitted it is not recorded, or was skipped. `is_explained`: the recording gives the
    /// reason.
    Nothing { is_explained: bool },
    /// Nothing: the replay was stopped before the call that emitted it had ended.
    NotPlayed,
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
    pub fn withheld(&self) -> impl Iterator<Item = (&str, &NotRerunReason)> {
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
            // Unknown: what a stage takes is checked message by message.
            carries: Carried::anything(),
            ..Port::default()
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

    /// The next call of a rerun stage, with its index. `None`: there are no more, or `is_stopping`.
    pub(crate) fn next_call(&self, stage: usize, is_stopping: bool) -> Option<(usize, &Call)> {
        self.parts.get(stage)?.next_call(is_stopping)
    }

    /// Whether a stage that is created now reads recorded times during its creation. The times are unknown for a stage
    /// that was created before the recording starts.
    pub(crate) fn reads_creation_times(&self, stage: usize) -> bool {
        let part = self.parts.get(stage);
        self.recording.about().since_ns.is_none()
            && part.is_some_and(|part| part.next.load(Ordering::Relaxed) == 0)
    }

    /// The times that a plugin read during its creation and its next call.
    pub(crate) fn next_times(&self, slot: Slot) -> &[i64] {
        let Some(part) = self.parts.get(slot.stage) else {
            return &[];
        };
        let next = part.next.load(Ordering::Relaxed);
        if next == 0 && !self.reads_creation_times(slot.stage) {
            return &[];
        }
        let turn = self.turns.get(slot.stage);
        let turn = turn.and_then(|turns| turns.next((slot.worker, slot.contestant), next));
        turn.and_then(|call| part.calls.get(call))
            .map_or(&[], |call| &call.clock)
    }

    /// The call of a rerun stage that is in progress.
    pub(crate) fn current_call(&self, stage: usize) -> Option<&Call> {
        let part = self.parts.get(stage)?;
        part.calls.get(part.current()).map(|call| &**call)
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
            // Its stage is not rerun, or the call that emitted it is not recorded.
            return self.recorded(taker, key);
        };
        let mut store = lock(&self.store);
        loop {
            match store.take(key) {
                Some(Content::Emitted(message)) => return Fetched::Message(message),
                Some(Content::Recorded) => {
                    drop(store);
                    let skip = Fetched::Skip { is_explained: true };
                    return self.load(taker, key).map_or(skip, Fetched::Message);
                }
                None => {}
            }
            if self.is_abandoned(from) {
                drop(store);
                return self.recorded(taker, key);
            }
            // Checked before the end of the other stage: a stop ends that too.
            if taker.run.mode() >= Mode::Drop {
                return Fetched::Stopped;
            }
            // If a recorded message does not arrive any more, that is reported as a difference. If all stages wait, no
            // message will arrive.
            if store.has_ended(from) || !store.wait(taker.index) {
                return Fetched::Skip { is_explained: true };
            }
            let woken = self.arrived.wait_timeout(store, POLL_INTERVAL);
            store = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            store.end_wait(taker.index);
        }
    }

    /// Loads a recorded message for a call.
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
        let Some(output) = self.outputs.of_port(source) else {
            return;
        };
        let key = self.ancestry.key(output, message.lineage().sequence);
        let kept = lock(&self.store).keep(key, message, self.allowance.is_limited());
        if kept == Kept::Unwanted {
            return;
        }
        self.arrived.notify_all();
        if kept == Kept::Replaced && self.exceed(source.stage, Excess::Memory) == 1 {
            tracing::warn!(
                stage = self.name(source.stage),
                "its messages wait for calls that come later, and take too much memory: the recorded ones are used instead"
            );
        }
    }

    /// Skips a call that can't be rerun: its recorded messages are used. `is_explained`: the recording gives the
    /// reason.
    pub(crate) fn skip(&self, stage: &Stage, number: usize, call: &Call, is_explained: bool) {
        self.keep_recorded(call);
        lock(&self.store).skip(stage.index, number, is_explained);
    }

    /// The plugin of a stage was abandoned in a call. If the call had exceeded a limit, the recorded messages of this
    /// call and of all further calls are used. Returns the limit.
    pub(crate) fn abandon(&self, stage: &Stage) -> Option<Excess> {
        let excess = self.allowance.abandon(stage)?;
        let part = self.parts.get(stage.index)?;
        part.is_abandoned.store(true, Ordering::SeqCst);
        let rest = part.calls.len().saturating_sub(part.current());
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

    /// A rerun call asks whether it is cancelled: see [`Allowance::check_if_late`].
    pub(crate) fn check_calls(&self) {
        self.allowance.check_if_late();
    }

    /// Replaces the output of a call that exceeded a limit by its recorded messages.
    pub(crate) fn substitute_recorded(
        &self,
        stage: &Stage,
        number: usize,
        call: &Call,
        excess: Excess,
    ) {
        if self.exceed(stage.index, excess) == 1 {
            let (stage, what) = (&stage.settings.name, excess.description());
            tracing::warn!(
                stage,
                "a call was cancelled: it took {what}; its recorded messages are used instead"
            );
        }
        lock(&self.store).exceed(stage.index, number);
        self.keep_recorded(call);
    }

    /// Counts a call that exceeded a limit. Returns their number.
    fn exceed(&self, stage: usize, excess: Excess) -> usize {
        let mut exceeded = lock(&self.exceeded);
        let calls = exceeded.entry((stage, excess)).or_default();
        *calls += 1;
        *calls
    }

    /// The name of a stage.
    fn name(&self, stage: usize) -> &str {
        self.parts.get(stage).map_or("", |part| &part.about.name)
    }

    /// The number of calls that exceeded a limit, by stage and limit.
    pub fn exceeded(&self) -> Vec<(&str, Excess, usize)> {
        let exceeded = lock(&self.exceeded);
        let name = |(&(stage, excess), &calls): (&(usize, Excess), &usize)| {
            Some((self.parts.get(stage)?.about.name.as_str(), excess, calls))
        };
        exceeded.iter().filter_map(name).collect()
    }

    /// The calls that take what a call emitted get the recorded messages.
    fn keep_recorded(&self, call: &Call) {
        for emitted in &call.emitted {
            let topic = Topic::new(&call.stage, &emitted.port);
            let Some(output) = self.outputs.find(&topic) else {
                continue;
            };
            let key = self.ancestry.key(output, emitted.sequence);
            if lock(&self.store).keep_recorded(key) {
                self.arrived.notify_all();
            }
        }
    }

    /// A stage has ended: it emits no more messages.
    pub(crate) fn end(&self, stage: usize) {
        lock(&self.store).end(stage);
        self.arrived.notify_all();
    }

    /// What a replay must emit for a recorded message of a rerun stage. `was_stopped`: the replay was stopped.
    pub(crate) fn expects(
        &self,
        output: OutputId,
        sequence: u64,
        at_ns: i64,
        was_stopped: bool,
    ) -> Expected {
        let source = self.ancestry.source(self.ancestry.key(output, sequence));
        let Some(source) = source else {
            let stage = self.outputs.stage(output);
            let is_explained = stage.is_some_and(|it| self.gaps.explain_call(it, at_ns));
            return Expected::Nothing { is_explained };
        };
        let part = self.parts.get(source.stage);
        let was_played = part.is_some_and(|part| source.call < part.current());
        let store = lock(&self.store);
        match store.skipped(source.stage, source.call) {
            None if was_stopped && !was_played => Expected::NotPlayed,
            None => Expected::Message {
                exceeds: store.exceeded(source.stage, source.call)
                    || !was_played && self.is_abandoned(source.stage),
            },
            Some(is_explained) => Expected::Nothing { is_explained },
        }
    }

    /// Whether the stage of an output is rerun.
    pub(crate) fn is_rerun_output(&self, output: OutputId) -> bool {
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

    /// The number of an output with this name. `None`: no stage has it, and no call names it.
    pub(crate) fn find_output(&self, topic: &Topic) -> Option<OutputId> {
        self.outputs.find(topic)
    }

    /// The name of an output.
    pub(crate) fn topic(&self, output: OutputId) -> Option<&Topic> {
        self.outputs.topic(output)
    }

    /// The number of skipped calls: pixels that they took are not in the recording, or a message never arrived.
    #[must_use]
    pub fn skipped(&self) -> usize {
        lock(&self.store).count_skipped(|_| true)
    }

    /// The number of skipped calls for which the recording gives no reason.
    #[must_use]
    pub fn skipped_without_reason(&self) -> usize {
        lock(&self.store).count_skipped(|is_explained| !is_explained)
    }

    /// The frame that the messages of a call without an input message descend from.
    pub(crate) fn last_descent(&self, call: &Call) -> Descent {
        let emitted = call.emitted.first();
        self.descent(emitted.and_then(|emitted| self.origin(emitted)))
    }

    fn descent(&self, origin: Option<Origin>) -> Descent {
        Descent {
            origin,
            captured: origin.and_then(|origin| self.captured(origin)),
        }
    }

    /// The recorded message that carried a frame.
    fn captured(&self, origin: Origin) -> Option<Arc<CapturedMessage>> {
        let mut last = lock(&self.captured);
        if let Some((of, captured)) = &*last
            && *of == origin
        {
            return Some(captured.clone());
        }
        let about = &self.parts.get(origin.stage)?.about;
        let mut topics = about
            .outputs
            .iter()
            .map(|(port, _)| Topic::new(&about.name, port));
        let has_payload = |topic: &Topic, sequence| {
            let kind = self.recording.payload_kind(topic, sequence);
            kind.is_some()
        };
        let topic = topics.find(|topic| has_payload(topic, origin.sequence))?;
        let (schema, body) = self.recording.message(&topic, origin.sequence)?;
        let captured = Arc::new(CapturedMessage {
            schema: std::ffi::CString::new(&**schema).ok()?.into(),
            body: Document::new(body.as_bytes()).ok()?,
        });
        *last = Some((origin, captured.clone()));
        Some(captured)
    }

    /// Loads a recorded message.
    fn load(&self, stage: &Stage, key: MessageKey) -> Option<Arc<Message>> {
        let MessageKey {
            output, sequence, ..
        } = key;
        let source = self.ancestry.source(key);
        let topic = self.outputs.topic(output)?;
        let (schema, body) = self.recording.message(topic, sequence)?;
        let frame = match self.recording.payload_kind(topic, sequence) {
            Some(_) => Some(self.frame(stage, topic, sequence)?),
            None => None,
        };
        let emitted = source.and_then(|source| self.emitted(source));
        let body = Document::new(body.as_bytes()).ok()?;
        let descent = self.descent(emitted.and_then(|emitted| self.origin(emitted)));
        Some(Arc::new(Message {
            schema: std::ffi::CString::new(&**schema).ok()?.into(),
            body,
            frame,
            lineage: flowpipe_host::message::Lineage {
                sequence,
                origin: descent.origin,
                captured: descent.captured,
                hops: self.hops(source),
                root: None,
            },
            source: self.outputs.port(output)?,
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
        let read = self.recording.payload(topic, sequence, |recorded| {
            payload::frame(pool, owner, recorded)
        });
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
    fn hops(&self, source: Option<Source>) -> Hops {
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
        let mut hops: Hops = line.map_while(hop).collect();
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
