//! One `process` call: the host functions that a plugin may call while it processes.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_config::manifest::Content;
use flowpipe_config::pipeline::PortRef;
use flowpipe_host::call::{CallContext, Cancellation};
use flowpipe_host::document::{Document, DocumentError};
use flowpipe_host::frame::Frame;
use flowpipe_host::message::{CapturedMessage, Descent, Hops, Lineage, MOST_HOPS, Message, Origin};
use flowpipe_host::run::Mode;
use flowpipe_recording::{LATEST_TIME, entry};
use flowpipe_sync::calls::CallNumber;

use crate::check::Judgement;
use crate::edge::held_receipt::HeldReceipt;
use crate::run::journal;
use crate::run::journal::Journal;
use crate::run::order::Turn;
use crate::run::race::Entrant;
use crate::run::stage::Stage;
use crate::run::worker_call::{LONGEST_MARK, MOST_MARKS};
use crate::watch::{Reason, Watch};

/// The context of one call, on the worker's stack.
pub(crate) struct Context<'a> {
    pub stage: &'a Stage,
    /// The worker of the stage.
    pub worker: usize,
    pub watch: &'a Watch,
    pub call: CallNumber,
    /// The message being processed.
    pub parent: Option<&'a Message>,
    /// What its answers keep.
    pub receipt: &'a HeldReceipt,
    /// The frame being processed; at the end of the stream, that of the last message.
    pub descent: &'a Descent,
    /// When the message was taken, or the call started.
    pub taken_ns: i64,
    /// The turn that it waits for before it emits, if there is one.
    pub turn: Option<Turn<'a>>,
    /// The race and the contestant, if the stage races.
    pub entrant: Option<Entrant<'a>>,
    pub emitted: Cell<u64>,
    pub marked: Cell<u64>,
    /// Why the first invalid message was refused.
    pub refused: RefCell<Option<String>>,
    /// Whether `emit` returned that there is no receiver any more.
    pub stopped: Cell<bool>,
    pub journal: Journal,
    /// The recorded call, in a replay.
    pub recorded: Option<&'a entry::Call>,
}

/// The most messages that a stage may emit for one message. Sources have no limit: full queues slow them down.
const MOST_ANSWERS: u64 = 100_000;

/// The interval at which a waiting stage checks for cancellation.
const WAIT_STEP: Duration = Duration::from_millis(5);

impl Context<'_> {
    /// Why the call is cancelled, if it is.
    pub(crate) fn cancelled(&self) -> Option<Reason> {
        let reason = match self.recorded {
            Some(_) if self.stage.run.mode() == Mode::Abort => Some(Reason::Stop),
            // A plugin that replaces the recorded one has a timeout of its own.
            Some(recorded) => self
                .watch
                .cancelled(self.call)
                .or_else(|| self.journal.was_cancelled(recorded)),
            None => self.cancelled_now(),
        };
        if let Some(reason) = reason {
            self.journal.note_cancelled(reason);
        }
        reason
    }

    fn cancelled_now(&self) -> Option<Reason> {
        if let Some(reason) = self.watch.cancelled(self.call) {
            return Some(reason);
        }
        if self.entrant.as_ref().is_some_and(Entrant::has_lost) {
            return Some(Reason::Lost);
        }
        let mode = self.stage.run.mode();
        mode.cancels(self.stage.is_source()).then_some(Reason::Stop)
    }

    fn send_output(&self, output: &abi::Output) -> abi::Status {
        // A contestant waits after it has won: who is first does not depend on the turn.
        let waits = self.entrant.is_none();
        if self.gives_up() || waits && !self.wait_for_turn() {
            self.stopped.set(true);
            return abi::STOPPED;
        }
        let sent = self.check(output).and_then(|(port, message, judgement)| {
            let Some(entrant) = &self.entrant else {
                return Ok(self.send(port, message));
            };
            entrant.offer(port, message, judgement, |port, message| {
                match self.wait_for_turn() {
                    true => self.stage.send(
                        self.watch,
                        port,
                        message,
                        self.receipt,
                        None,
                        &self.journal,
                    ),
                    false => abi::STOPPED,
                }
            })
        });
        let status = sent.unwrap_or_else(|reason| {
            self.refused.borrow_mut().get_or_insert(reason);
            abi::BAD_MESSAGE
        });
        self.stopped
            .set(self.stopped.get() || status == abi::STOPPED);
        status
    }

    /// Whether the call is abandoned or cancelled, before it emits.
    fn gives_up(&self) -> bool {
        self.watch.is_abandoned() || !self.was_emitted() && self.cancelled().is_some()
    }

    /// Whether the recorded call emitted what this one is about to emit. Then it was cancelled after that, if it was:
    /// while it waited for room, without a poll in between.
    fn was_emitted(&self) -> bool {
        let recorded = self.recorded.map_or(0, |it| it.emitted.len() as u64);
        let is_cancelled_here =
            || self.stage.run.mode() == Mode::Abort || self.watch.cancelled(self.call).is_some();
        self.emitted.get() < recorded && !is_cancelled_here()
    }

    /// Waits until all earlier messages of the stage are processed. False: the call is abandoned or cancelled.
    fn wait_for_turn(&self) -> bool {
        let Some(turn) = self.turn.filter(|turn| !turn.has_come()) else {
            return true;
        };
        let run = &self.stage.run;
        self.watch.begin_wait(run.now());
        let has_come = turn.wait(|| self.gives_up());
        self.watch.end_wait(run.now());
        has_come && !self.gives_up()
    }

    fn send(&self, port: usize, message: Message) -> abi::Status {
        let number = self.recorded.zip(self.stage.run.replay.as_ref());
        let number = number.map(|(recorded, replay)| {
            let name = self.stage.outputs.get(port).map_or("", |it| &it.name);
            let sequence = self.journal.recorded_sequence(recorded, name);
            sequence.unwrap_or_else(|| replay.new_sequence())
        });
        self.stage.send(
            self.watch,
            port,
            message,
            self.receipt,
            number,
            &self.journal,
        )
    }

    /// Sleeps in short steps, so that a cancellation and the death of the worker's machine are noticed.
    fn wait_for_deadline(&self, deadline_ns: i64) -> abi::Status {
        let run = &self.stage.run;
        self.watch.begin_wait(run.now());
        let status = loop {
            let is_dead = self.stage.remote_workers.is_dead(self.worker);
            if is_dead || self.watch.is_abandoned() || self.cancelled().is_some() {
                break abi::CANCELLED;
            }
            if run.ends_waits() {
                self.lose_wait();
                break abi::CANCELLED;
            }
            let left = deadline_ns.saturating_sub(run.now());
            if left <= 0 {
                break abi::OK;
            }
            std::thread::sleep(Duration::from_nanos(left.unsigned_abs()).min(WAIT_STEP));
        };
        self.watch.end_wait(run.now());
        status
    }

    /// Cancels the call, which waits although the run is to end. What waits behind its message is left in the queue.
    fn lose_wait(&self) {
        let stage = self.stage;
        self.watch.cancel(self.call, Reason::Stop);
        self.journal.note_cancelled(Reason::Stop);
        let was_known = stage.waits_in_vain.swap(true, Ordering::Relaxed);
        let snapshot = self.watch.snapshot(stage.run.now());
        let message = snapshot.and_then(|it| it.message);
        if message.is_some() || !was_known {
            let contestant = self.entrant.as_ref().map_or(0, |it| it.contestant);
            stage.lose(contestant, message);
        }
    }

    /// Builds and validates a message from what the plugin emits. The error is the reason why it is refused.
    fn check(&self, output: &abi::Output) -> Result<(usize, Message, Judgement), String> {
        self.emitted.set(self.emitted.get() + 1);
        if self.emitted.get() > MOST_ANSWERS && !self.stage.is_source() {
            return Err(format!(
                "it emitted more than {MOST_ANSWERS} messages in one call"
            ));
        }
        let index = output.port as usize;
        let outputs = &self.stage.outputs;
        let port = outputs
            .get(index)
            .ok_or_else(|| format!("it emitted at output {index}, but has {}", outputs.len()))?;
        let refuse = |why: String| format!("it emitted at \"{}\" {why}", port.name);
        let not_a_document = |error: DocumentError| refuse(format!("a message that is {error}"));
        // SAFETY: the ABI demands NUL-terminated text or null.
        let given = unsafe { (!output.schema.is_null()).then(|| CStr::from_ptr(output.schema)) };
        let schema = match (&port.schema, given) {
            (Some(schema), None) => schema.clone(),
            (Some(schema), Some(given)) if **schema == *given => schema.clone(),
            (Some(schema), Some(given)) => {
                return Err(refuse(format!(
                    "a message of schema {given:?} where {schema:?} is declared"
                )));
            }
            (None, Some(given)) => Arc::from(given),
            (None, None) => return Err(refuse("a message without a schema".into())),
        };
        // SAFETY: the ABI demands null or a reference that the plugin holds and keeps.
        let frame = unsafe {
            let borrowed = std::mem::ManuallyDrop::new(Frame::from_abi(output.frame));
            (*borrowed).clone()
        };
        let content = frame.as_ref().map_or(Content::Nothing, Frame::content);
        port.check_content(content).map_err(refuse)?;
        if (port.schema.is_none() || port.fed.may_refuse(content))
            && let Some(why) = port.fed.refusal(&schema, content)
        {
            return Err(refuse(why));
        }
        let body = if output.json.is_null() {
            Document::empty()
        } else {
            // SAFETY: the ABI demands json_length readable bytes.
            let json =
                unsafe { std::slice::from_raw_parts(output.json.cast::<u8>(), output.json_length) };
            Document::unchecked(json).map_err(not_a_document)?
        };
        let mut lineage = self.lineage(frame.is_some(), output.captured_ns);
        if self.descent.origin.is_none() && frame.is_some() {
            lineage.captured = Some(Arc::new(CapturedMessage {
                schema: schema.clone(),
                body: body.clone(),
            }));
        }
        let message = Message {
            schema,
            body,
            frame,
            lineage,
            source: PortRef {
                stage: self.stage.index,
                port: index,
            },
        };
        // A validator or an observer that reads the message has parsed it: it is not parsed twice.
        let judgement = self.judge(&message);
        if !matches!(judgement, Judgement::Refuse(_)) {
            for observer in &self.stage.run.observers {
                observer.accepted(&message);
            }
        }
        message.body.check().map_err(not_a_document)?;
        if let Judgement::Refuse(reason) = judgement {
            return Err(refuse(format!(
                "a message that does not pass the checks: {reason}"
            )));
        }
        Ok((index, message, judgement))
    }

    fn lineage(&self, has_frame: bool, captured_ns: i64) -> Lineage {
        let emitted_ns = match self.recorded {
            Some(recorded) => self
                .journal
                .recorded_emission_ns(recorded, self.emitted.get()),
            None => self.stage.run.now(),
        };
        let parent = self.parent.map_or(&[][..], |parent| &parent.lineage.hops);
        let parent = &parent[parent.len().saturating_sub(MOST_HOPS - 1)..];
        let mut hops = Hops::from_slice(parent);
        hops.push(abi::Hop {
            stage: self.stage.index as u32,
            reserved: 0,
            taken_ns: self.taken_ns,
            emitted_ns,
        });
        let new = || Origin {
            stage: self.stage.index,
            // The message's own number, known when it is sent.
            sequence: 0,
            captured_ns: capture_time(captured_ns, emitted_ns),
        };
        Lineage {
            sequence: 0,
            origin: self.descent.origin.or_else(|| has_frame.then(new)),
            captured: self.descent.captured.clone(),
            hops,
            root: self.parent.map(Message::root),
        }
    }

    fn judge(&self, message: &Message) -> Judgement {
        if let Some(schema) = self.stage.run.message_schema(message.schema())
            && let Err(reason) = schema.check(message)
        {
            return Judgement::Refuse(reason);
        }
        let output = self.stage.outputs.get(message.source.port);
        match output.filter(|output| output.schema.is_some()) {
            Some(output) => output.checks.judge(self.parent, message),
            None => {
                let checks = self.stage.run.checks.of_any(message.schema());
                checks.judge(self.parent, message)
            }
        }
    }
}

/// When a new frame was captured, as the plugin states it; 0: when it was emitted.
///
/// A frame can't be captured after its emission, and a recording can't hold times beyond [`LATEST_TIME`]. Other times
/// are clamped and not refused: a replayed plugin that reads the clock more often than the recorded one gets later
/// times than the recorded emission.
fn capture_time(stated_ns: i64, emitted_ns: i64) -> i64 {
    match stated_ns {
        0 => emitted_ns,
        stated_ns => stated_ns.max(-LATEST_TIME).min(emitted_ns),
    }
}

impl CallContext for Context<'_> {
    fn emit(&self, output: Option<&abi::Output>) -> abi::Status {
        if let Some(output) = output {
            return self.send_output(output);
        }
        let reason = "it emitted nothing, or an output whose struct_size is too small";
        self.refused
            .borrow_mut()
            .get_or_insert_with(|| reason.to_owned());
        abi::BAD_MESSAGE
    }

    fn is_cancelled(&self) -> bool {
        if let Some(replay) = &self.stage.run.replay {
            replay.check_calls();
        }
        let cancelled = self.cancelled().is_some();
        self.journal.note_poll();
        cancelled || self.watch.is_abandoned()
    }

    fn mark(&self, name: &str, at_ns: Option<i64>) {
        let marked = self.marked.get().saturating_add(1);
        self.marked.set(marked);
        if marked > MOST_MARKS {
            if marked == MOST_MARKS + 1 {
                let stage = &self.stage.settings.name;
                tracing::warn!(
                    stage,
                    "it marks more than {MOST_MARKS} times in one call: the further marks are ignored"
                );
            }
            return;
        }
        let name = &name[..name.floor_char_boundary(LONGEST_MARK)];
        let run = &self.stage.run;
        let now = run.now();
        // What another process states: it can't have marked before the call or later than now.
        let now = at_ns.map_or(now, |at_ns| at_ns.max(self.taken_ns).min(now));
        if let Some(origin) = self.descent.origin {
            run.marks.note(name, origin, now);
        }
        self.journal.note_mark(run, name, now);
        for observer in &run.observers {
            observer.mark(self.stage.index, name, self.parent, now);
        }
    }

    fn wait_until(&self, deadline_ns: i64) -> abi::Status {
        if let Some(recorded) = self.recorded {
            return match self.journal.recorded_wait(recorded) {
                true => abi::OK,
                false => abi::CANCELLED,
            };
        }
        let status = self.wait_for_deadline(deadline_ns);
        self.journal.note_wait(&self.stage.run, status == abi::OK);
        status
    }

    fn recorded_cancellation(&self) -> Option<Option<Cancellation>> {
        let of = |cancelled: entry::Cancelled| Cancellation {
            after: cancelled.after,
            reason: journal::reason(cancelled.reason) as u32,
        };
        self.recorded.map(|recorded| recorded.cancelled.map(of))
    }

    fn catch_up(&self, polls: u64, cancelled: Option<Cancellation>) {
        let reason = |it: Cancellation| Some((it.after, Reason::from_number(it.reason)?));
        self.journal.catch_up(polls, cancelled.and_then(reason));
    }
}
