//! A worker: one plugin instance on one thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_recording::entry::{Call, Event};

use crate::edge::inputs::Next;
use crate::message::{Message, Origin};
use crate::plugin::instance::{Instance, reason};
use crate::problem::{MessageId, Problem, ProblemKind};
use crate::run::call::Context;
use crate::run::journal::{self, Journal};
use crate::run::race::Entrant;
use crate::run::shared::Mode;
use crate::run::stage::{Stage, Then};
use crate::run::watch::{Reason, Watch};
use crate::sync::lock;

/// One plugin instance and what is known of it from outside.
pub(crate) struct Worker {
    pub stage: Arc<Stage>,
    /// Which of the stage's contestants it is; 0 where there is no race.
    pub contestant: usize,
    pub watch: Arc<Watch>,
    pub instance: Instance,
}

/// What there is to do in one call.
#[derive(Clone)]
pub(crate) struct Work {
    pub event: abi::Event,
    /// The message and the port that it came by.
    pub message: Option<(usize, Arc<Message>)>,
    /// The frame that the work descends from.
    pub origin: Option<Origin>,
    /// When it was taken from the queue.
    pub taken_ns: i64,
}

/// What came of one call.
pub(crate) struct Done {
    pub outcome: Outcome,
    /// Nanoseconds in the call, waiting for full queues left out.
    pub worked_ns: i64,
    pub emitted: u64,
    /// The call, where somebody wants it written down.
    pub written: Option<Box<Call>>,
}

/// How a call ended.
pub(crate) enum Outcome {
    /// As it should.
    Fine,
    /// The plugin has nothing more to give.
    End,
    /// The run or the receivers are ending.
    Stopped,
    /// Another contestant was faster.
    Lost,
    /// It failed, in words.
    Failed(ProblemKind, String),
    /// The control thread gave the worker up while it was in the call.
    GivenUp,
}

impl Work {
    pub(crate) fn message(port: usize, message: Arc<Message>, now: i64) -> Self {
        let origin = message.lineage.origin;
        Self {
            event: abi::EVENT_MESSAGE,
            message: Some((port, message)),
            origin,
            taken_ns: now,
        }
    }

    /// A call without a message.
    pub(crate) fn event(event: abi::Event, origin: Option<Origin>, now: i64) -> Self {
        Self {
            event,
            message: None,
            origin,
            taken_ns: now,
        }
    }

    /// What the call is for.
    pub(crate) fn kind(&self) -> Event {
        match self.event {
            abi::EVENT_MESSAGE => Event::Message,
            abi::EVENT_FINISH => Event::Finish,
            _ => Event::Tick,
        }
    }

    /// Names the message in hand.
    pub(crate) fn message_id(&self, stage: &Stage) -> Option<MessageId> {
        self.message.as_ref().map(|(port, message)| {
            let frame = message.lineage.origin.map_or(0, |origin| origin.sequence);
            stage.message_id(*port, message.lineage.sequence, frame)
        })
    }
}

impl Worker {
    /// Works until the stream ends or the stage is to pause. Returns the instance, unless it was given up.
    pub(crate) fn run(mut self) -> Left {
        let stage = self.stage.clone();
        let mut pause = Pause::default();
        let end = loop {
            let work = match stage.next() {
                Coming::Work(work) => work,
                Coming::Nothing => break End::Stream,
                Coming::Pause => return Left::paused(Some(self.instance)),
            };
            let done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::GivenUp) {
                return Left::over(self.leave_behind());
            }
            stage.tell_call(done.written);
            stage.note_time(done.worked_ns);
            let failed = matches!(done.outcome, Outcome::Failed(..));
            match self.conclude(done.outcome, &work) {
                Then::GoOn => {}
                Then::End => break End::Early,
            }
            if stage.is_source() {
                pause.after(done.emitted, failed);
            }
        };
        if end == End::Stream && !stage.is_source() && stage.run.mode() < Mode::Abort {
            let work = stage.finish();
            let done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::GivenUp) {
                return Left::over(self.leave_behind());
            }
            stage.tell_call(done.written);
            stage.note_time(done.worked_ns);
            self.conclude(done.outcome, &work);
        }
        stage.close();
        Left::over(Some(self.instance))
    }

    /// Lets the plugin do one piece of work.
    /// `script`: the call as it was recorded, when it is run again.
    pub(crate) fn process(
        &mut self,
        work: &Work,
        entrant: Option<Entrant<'_>>,
        script: Option<&Call>,
    ) -> Done {
        let stage = &self.stage;
        let parent = work
            .message
            .as_ref()
            .map(|(port, message)| (*port, &**message));
        // A call that is run again was taken long ago.
        let since = match script {
            Some(_) => stage.run.now(),
            None => work.taken_ns,
        };
        let call = self.watch.begin(since, parent);
        let context = Context {
            stage,
            watch: &self.watch,
            call,
            parent: parent.map(|(_, message)| message),
            origin: work.origin,
            taken_ns: work.taken_ns,
            entrant,
            emitted: Cell::new(0),
            refused: RefCell::new(None),
            stopped: Cell::new(false),
            journal: Journal::default(),
            script,
        };
        let nothing = |outcome| Done {
            outcome,
            worked_ns: 0,
            emitted: 0,
            written: None,
        };
        // Looked at after `begin`, so that either this sees the winner or the winner saw this call.
        if context.entrant.as_ref().is_some_and(Entrant::has_lost) {
            let over = self.watch.end(call);
            return nothing(if over {
                Outcome::Lost
            } else {
                Outcome::GivenUp
            });
        }
        let lineage = parent.map(|(_, message)| message.lineage.as_abi());
        let message = parent
            .zip(lineage.as_ref())
            .map(|((port, message), lineage)| abi::Message {
                struct_size: size_of::<abi::Message>() as u32,
                port: port as u32,
                schema: message.schema.as_ptr(),
                json: message.body.as_c(),
                json_length: message.body.len(),
                document: message.body.as_abi(),
                frame: message
                    .frame
                    .as_ref()
                    .map_or(std::ptr::null_mut(), |frame| frame.as_abi()),
                lineage,
            });
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event: work.event,
            message: message
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
            context: context.as_abi(),
        };
        let task = stage.begins(self.contestant, work);
        let _span = stage.span(self.contestant, work).entered();
        let forgotten = match work.message.is_some() && stage.settings.fresh {
            true => self.instance.reset(),
            false => abi::OK,
        };
        let status = match forgotten {
            failed @ ..abi::OK => failed,
            _ => self.instance.process(&process),
        };
        if !self.watch.end(call) {
            return nothing(Outcome::GivenUp);
        }
        let outcome = outcome(status, &context, &self.instance);
        let worked_ns = stage.run.now() - work.taken_ns - self.watch.waited_in_call();
        if let Some(task) = &task {
            let waited_ns = self.watch.waited_in_call();
            stage.worked(task, waited_ns, context.emitted.get(), &outcome);
        }
        let written = stage.run.logs_calls.then(|| {
            let clock = self.instance.host().tape().take();
            let call = journal::write(&context, work, self.contestant, &outcome, clock);
            Box::new(call)
        });
        Done {
            outcome,
            worked_ns,
            emitted: context.emitted.get(),
            written,
        }
    }

    /// Leaves a worker that was given up as it is: the plugin may still hold on to its host.
    pub(crate) fn leave_behind<T>(self) -> Option<T> {
        std::mem::forget(self.instance);
        None
    }

    fn conclude(&self, outcome: Outcome, work: &Work) -> Then {
        match outcome {
            Outcome::Fine => Then::GoOn,
            Outcome::End | Outcome::GivenUp => Then::End,
            // Whether the stage has to end shows when it looks for more work.
            Outcome::Stopped | Outcome::Lost => Then::GoOn,
            Outcome::Failed(kind, text) => self.stage.fail(self.problem(kind, text, work)),
        }
    }

    /// A problem of this worker's plugin with the work in hand.
    pub(crate) fn problem(&self, kind: ProblemKind, text: String, work: &Work) -> Problem {
        let message = work.message_id(&self.stage);
        self.stage.problem(kind, self.contestant, message, text)
    }
}

/// What comes next in a stage.
pub(crate) enum Coming {
    /// A piece of work.
    Work(Work),
    /// Nothing any more.
    Nothing,
    /// The stage is to pause before it.
    Pause,
}

/// What a thread of a stage leaves behind.
pub(crate) struct Left {
    /// Not there: a driver's thread, or one that was given up.
    pub instance: Option<Instance>,
    /// The stage pauses, and has more to do.
    pub paused: bool,
}

impl Left {
    pub(crate) fn paused(instance: Option<Instance>) -> Self {
        Self {
            instance,
            paused: true,
        }
    }

    pub(crate) fn over(instance: Option<Instance>) -> Self {
        Self {
            instance,
            paused: false,
        }
    }
}

impl Stage {
    /// The next piece of work, waiting for it.
    pub(crate) fn next(&self) -> Coming {
        loop {
            if self.must_end() {
                return Coming::Nothing;
            }
            if self.gate.is_closed() && self.gate.pauses() {
                return Coming::Pause;
            }
            let mut ports = lock(&self.ports);
            if ports.outputs.are_gone() {
                return Coming::Nothing;
            }
            if self.is_source() {
                drop(ports);
                return Coming::Work(Work::event(abi::EVENT_TICK, None, self.run.now()));
            }
            match ports.inputs.take(&self.gate) {
                Next::Message(port, message) => {
                    ports.origin = message.lineage.origin;
                    drop(ports);
                    self.counts.received.fetch_add(1, Ordering::Relaxed);
                    return Coming::Work(Work::message(port, message, self.run.now()));
                }
                Next::Ended => return Coming::Nothing,
                Next::Paused => {}
            }
        }
    }

    /// The work of the end.
    pub(crate) fn finish(&self) -> Work {
        let origin = lock(&self.ports).origin;
        Work::event(abi::EVENT_FINISH, origin, self.run.now())
    }
}

/// Why a worker's loop ended.
#[derive(PartialEq, Eq)]
enum End {
    /// There is no more work: the plugin may emit what it still holds.
    Stream,
    /// The plugin is done, or failed.
    Early,
}

/// What a status means, seen together with what happened in the call.
fn outcome(status: abi::Status, context: &Context<'_>, instance: &Instance) -> Outcome {
    let cancelled = context.cancelled();
    let timeout = context.stage.settings.timeout.unwrap_or_default();
    match (status, cancelled) {
        (_, Some(Reason::Timeout)) => {
            instance.host().take_error();
            Outcome::Failed(ProblemKind::TimedOut, format!("not done after {timeout:?}"))
        }
        (_, Some(Reason::Lost)) => {
            instance.host().take_error();
            Outcome::Lost
        }
        (status, _) if status != abi::PANIC && context.refused.borrow().is_some() => {
            instance.host().take_error();
            Outcome::Failed(
                ProblemKind::BadMessage,
                context.refused.take().unwrap_or_default(),
            )
        }
        (abi::OK, _) => Outcome::Fine,
        (abi::END, _) => Outcome::End,
        (abi::CANCELLED, Some(Reason::Stop)) => Outcome::Stopped,
        // It asked the run itself (`flowpipe.run/1`).
        (abi::CANCELLED, None) if context.stage.run.mode() > Mode::Run => Outcome::Stopped,
        // Failing because emit said that nobody takes messages any more is not failing.
        (abi::STOPPED | abi::CANCELLED | abi::ERROR, _) if context.stopped.get() => {
            instance.host().take_error();
            Outcome::Stopped
        }
        (status, _) => Outcome::Failed(ProblemKind::Failed, reason(status, instance.host())),
    }
}

/// Keeps a source that gives nothing from burning a processor.
#[derive(Default)]
struct Pause {
    failures: u32,
}

impl Pause {
    fn after(&mut self, emitted: u64, failed: bool) {
        self.failures = if failed { self.failures + 1 } else { 0 };
        if emitted == 0 || failed {
            // 1 ms, and up to 128 ms for one that fails again and again.
            std::thread::sleep(Duration::from_millis(1 << self.failures.min(7)));
        }
    }
}
