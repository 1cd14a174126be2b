//! A worker: one plugin instance on one thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::call::CallHandle;
use flowpipe_host::instance::Instance;
use flowpipe_host::message::{Message, Origin};
use flowpipe_host::problem::{MessageId, Problem, ProblemKind};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::{Call, Event};
use flowpipe_sync::lock;

use crate::edge::inputs;
use crate::run::call::Context;
use crate::run::journal::{self, Journal};
pub(crate) use crate::run::outcome::Outcome;
use crate::run::outcome::outcome;
use crate::run::race::Entrant;
use crate::run::stage::Stage;
use crate::run::threads::WorkerExit;
use crate::supervisor::{Action, Event as Life, Verdict};
use crate::watch::Watch;

/// One plugin instance and what is known of it from outside.
pub(crate) struct Worker {
    pub stage: Arc<Stage>,
    /// Which of the stage's contestants it is; 0 where there is no race.
    pub contestant: usize,
    pub watch: Arc<Watch>,
    pub instance: Instance,
    /// It has not processed a message since it started or failed.
    pub may_have_failed: bool,
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
    /// What it failed on.
    pub message: Option<MessageId>,
    /// The plugin is restarted after this time. Known once that is decided.
    pub restart: Option<Duration>,
    /// It can't go on, and nobody takes its place.
    pub gone: bool,
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
    /// Works until the stream ends, the stage is to pause, or the plugin is to be restarted.
    pub(crate) fn run(mut self) -> WorkerExit {
        let stage = self.stage.clone();
        let mut pause = Pause::default();
        let end = loop {
            let work = match stage.next() {
                Coming::Work(work) => work,
                Coming::Nothing => break End::Stream,
                Coming::Pause => return WorkerExit::paused(Some(self.instance)),
            };
            let mut done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::GivenUp) {
                return self.leave_behind();
            }
            let failed = matches!(done.outcome, Outcome::Failed(..));
            let next = self.decide(&mut done);
            stage.tell_call(done.written);
            stage.note_time(done.worked_ns);
            self.conclude(done.outcome, next, &work);
            match next {
                Verdict::Continue => {}
                Verdict::Restart(after) => {
                    return WorkerExit::restart(vec![self.instance], 0, after);
                }
                Verdict::End => break End::Early,
            }
            if stage.is_source() {
                pause.after(done.emitted, failed);
            }
        };
        if end == End::Stream && !stage.is_source() && stage.run.mode() < Mode::Abort {
            let work = stage.finish();
            let mut done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::GivenUp) {
                return self.leave_behind();
            }
            let next = self.decide(&mut done);
            stage.tell_call(done.written);
            stage.note_time(done.worked_ns);
            self.conclude(done.outcome, next, &work);
        }
        stage.close();
        WorkerExit::finished(self.instance)
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
            message: None,
            restart: None,
            gone: false,
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
        let handle = CallHandle::new(&context);
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event: work.event,
            message: message
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
            context: handle.as_abi(),
        };
        let task = stage.begins(self.contestant, work);
        let _span = stage.span(self.contestant, work).entered();
        let forgotten = match work.message.is_some() && stage.settings.fresh {
            true => self.instance.reset(),
            false => abi::OK,
        };
        let status = match forgotten {
            failed @ ..abi::OK => failed,
            // SAFETY: the message and the handle live until the call returns.
            _ => unsafe { self.instance.process(&process) },
        };
        if !self.watch.end(call) {
            return nothing(Outcome::GivenUp);
        }
        let outcome = outcome(status, &context, &self.instance);
        let failed = matches!(outcome, Outcome::Failed(..));
        let worked_ns = stage.run.now() - work.taken_ns - self.watch.waited_in_call();
        if let Some(task) = &task {
            let waited_ns = self.watch.waited_in_call();
            stage.worked(task, waited_ns, context.emitted.get(), &outcome);
        }
        let written = stage.run.logs_calls.then(|| {
            let clock = self.instance.host().stage_clock().take();
            let call = journal::write(&context, work, self.contestant, &outcome, clock);
            Box::new(call)
        });
        Done {
            outcome,
            worked_ns,
            emitted: context.emitted.get(),
            written,
            message: match failed {
                true => work.message_id(stage),
                false => None,
            },
            restart: None,
            gone: false,
        }
    }

    /// Leaves a worker that was given up as it is: the plugin may still hold on to its host.
    pub(crate) fn leave_behind(self) -> WorkerExit {
        std::mem::forget(self.instance);
        WorkerExit::default()
    }

    /// Whether the plugin continues after this call, is restarted or ends.
    pub(crate) fn decide(&mut self, done: &mut Done) -> Verdict {
        let verdict = match &done.outcome {
            Outcome::Fine => {
                self.succeeded();
                Verdict::Continue
            }
            Outcome::End | Outcome::GivenUp => Verdict::End,
            // Whether the stage has to end shows when it looks for more work.
            Outcome::Stopped | Outcome::Lost => Verdict::Continue,
            Outcome::Failed(..) => self.failed(),
        };
        done.gone = verdict == Verdict::End && self.instance.death().is_some();
        if let Verdict::Restart(after) = verdict {
            done.restart = Some(after);
            if let Some(call) = &mut done.written {
                call.restarted = true;
            }
        }
        verdict
    }

    /// Only the first success after failures is news.
    fn succeeded(&mut self) {
        if std::mem::take(&mut self.may_have_failed) {
            let slot = self.stage.slot(self.contestant);
            self.stage.run.supervise(Life::Succeeded(slot));
        }
    }

    fn failed(&mut self) -> Verdict {
        self.may_have_failed = true;
        let failed = Life::Failed {
            slot: self.stage.slot(self.contestant),
            is_alive: self.instance.death().is_none(),
        };
        let decided = |action| match action {
            Action::Decide(verdict) => Some(verdict),
            _ => None,
        };
        let actions = self.stage.run.supervise(failed).into_iter();
        actions.filter_map(decided).next().unwrap_or(Verdict::End)
    }

    /// Counts and reports what came of a call.
    fn conclude(&self, outcome: Outcome, verdict: Verdict, work: &Work) {
        if let Outcome::Failed(kind, text) = outcome {
            let problem = self.problem(kind, text, work);
            match verdict {
                Verdict::Restart(_) => self.stage.skip(problem),
                Verdict::Continue | Verdict::End => {
                    self.stage.fail(problem);
                }
            }
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
                inputs::Next::Message(port, message) => {
                    ports.origin = message.lineage.origin;
                    drop(ports);
                    self.counts.received.fetch_add(1, Ordering::Relaxed);
                    return Coming::Work(Work::message(port, message, self.run.now()));
                }
                inputs::Next::Ended => return Coming::Nothing,
                inputs::Next::Paused => {}
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
