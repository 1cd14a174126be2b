//! A worker: one plugin instance on one thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::call::CallHandle;
use flowpipe_host::instance::Instance;
use flowpipe_host::message::Descent;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::Call;
use flowpipe_sync::lock;

use crate::edge::inputs;
use crate::run::call::Context;
use crate::run::call_record;
use crate::run::distributed::Availability;
use crate::run::exit::WorkerExit;
use crate::run::journal::Journal;
use crate::run::notify;
use crate::run::order::Turn;
use crate::run::outcome::{Done, Outcome, outcome};
use crate::run::race::Entrant;
use crate::run::stage::Stage;
use crate::run::work::Work;
use crate::supervisor::{self, Action, Decision, Slot};
use crate::watch::Watch;

/// How often a worker without a connection to its machine checks whether there is one.
const AWAY_STEP: Duration = Duration::from_millis(5);

/// One plugin instance with its stage and watch.
pub(crate) struct Worker {
    pub stage: Arc<Stage>,
    /// Its slot among those of the stage's workers and contestants.
    pub slot: Slot,
    pub watch: Arc<Watch>,
    pub instance: Instance,
    /// Whether it has not processed a message since it started or failed.
    pub may_have_failed: bool,
}

impl Worker {
    /// Runs until the stream ends, the stage is to pause, or the plugin is to be restarted.
    pub(crate) fn run(mut self) -> WorkerExit {
        let stage = self.stage.clone();
        let mut idle = IdleBackoff::default();
        // When the last call ended, if the next one of a source begins right then: the clock need not be read again.
        let mut since = None;
        let mut end = loop {
            let work = match stage.next(self.slot.worker, since.take()) {
                NextWork::Work(work) => work,
                NextWork::EndOfStream => break LoopEnd::Stream,
                NextWork::Pause => return WorkerExit::paused(Some(self.instance)),
                NextWork::MachineDead => break LoopEnd::MachineDead,
            };
            let mut done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::Abandoned) {
                return self.abandon();
            }
            if stage
                .remote_workers
                .is_lost(self.slot.worker, &done.outcome)
            {
                self.lose(done, &work);
                break LoopEnd::MachineDead;
            }
            let failed = matches!(done.outcome, Outcome::Failed(..));
            let next = self.decide(&mut done);
            stage.finish_ticket(work.ticket);
            stage.note_time(&work, &done);
            stage.report_call(done.written);
            self.conclude(done.outcome, next, &work);
            match next {
                Decision::Continue => {}
                Decision::Restart(after) => {
                    return WorkerExit::restart(vec![self.instance], 0, after);
                }
                Decision::End => break LoopEnd::Early,
            }
            if stage.is_source()
                && !idle.after(done.emitted, failed)
                && !failed
                && !stage.run.logs_calls
            {
                since = Some(done.ended_ns);
            }
        };
        if end == LoopEnd::Stream && stage.remote_workers.is_dead(self.slot.worker) {
            end = LoopEnd::MachineDead;
        }
        if end == LoopEnd::Stream
            && !stage.is_source()
            && stage.run.mode() < Mode::Abort
            && let Some(work) = stage.finish(self.slot.worker)
        {
            let mut done = self.process(&work, None, None);
            if matches!(done.outcome, Outcome::Abandoned) {
                return self.abandon();
            }
            if stage
                .remote_workers
                .is_lost(self.slot.worker, &done.outcome)
            {
                self.lose(done, &work);
                end = LoopEnd::MachineDead;
            } else {
                let next = self.decide(&mut done);
                stage.finish_ticket(work.ticket);
                stage.report_call(done.written);
                self.conclude(done.outcome, next, &work);
            }
        }
        if end == LoopEnd::MachineDead {
            stage.lose_worker(self.slot.worker);
        }
        stage.close_alone();
        WorkerExit::finished(self.instance)
    }

    /// Calls the plugin once. `recorded`: the recorded call, in a replay.
    pub(crate) fn process(
        &mut self,
        work: &Work,
        entrant: Option<Entrant<'_>>,
        recorded: Option<&Call>,
    ) -> Done {
        let stage = &self.stage;
        let parent = work
            .message
            .as_ref()
            .map(|(port, message)| (*port, &**message));
        // In a replay, the recorded time is not that of this run's clock.
        let since = match recorded {
            Some(_) => stage.run.now(),
            None => work.taken_ns,
        };
        // In a race, the other contestants may still need it: the driver releases it.
        if entrant.is_none() {
            self.watch.note_receipt(&work.receipt);
        }
        let call = self.watch.begin(since, parent);
        let context = Context {
            stage,
            worker: self.slot.worker,
            watch: &self.watch,
            call,
            parent: parent.map(|(_, message)| message),
            receipt: &work.receipt,
            descent: &work.descent,
            taken_ns: work.taken_ns,
            turn: stage.turn(work),
            entrant,
            emitted: Cell::new(0),
            marked: Cell::new(0),
            refused: RefCell::new(None),
            stopped: Cell::new(false),
            journal: Journal::default(),
            recorded,
        };
        // Checked after `begin`, so that either this sees the winner or the winner saw this call.
        if context.entrant.as_ref().is_some_and(Entrant::has_lost) {
            let over = self.watch.end(call);
            return Done::nothing(if over {
                Outcome::Lost
            } else {
                Outcome::Abandoned
            });
        }
        let lineage = parent.map(|(_, message)| message.lineage.as_abi());
        let message = parent
            .zip(lineage.as_ref())
            .map(|((port, message), lineage)| message.as_abi(port as u32, lineage));
        let handle = CallHandle::new(&context);
        let process = abi::Process {
            struct_size: size_of::<abi::Process>() as u32,
            event: work.event,
            message: message
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
            context: handle.as_abi(),
        };
        let task = notify::task_started(stage, self.slot, work);
        let _span = notify::span(stage, self.slot, work).entered();
        let reset = match work.message.is_some() && stage.settings.fresh {
            true => self.instance.reset(),
            false => abi::OK,
        };
        let status = match reset {
            failed @ ..abi::OK => failed,
            // SAFETY: the message and the handle outlive the call.
            _ => unsafe { self.instance.process(&process) },
        };
        if !self.watch.end(call) {
            return Done::nothing(Outcome::Abandoned);
        }
        let outcome = outcome(status, &context, &self.instance);
        let failed = matches!(outcome, Outcome::Failed(..));
        let ended_ns = stage.run.now();
        let worked_ns = ended_ns - work.taken_ns - self.watch.waited_in_call();
        if let Some(task) = &task {
            let waited_ns = self.watch.waited_in_call();
            notify::task_finished(stage, task, waited_ns, context.emitted.get(), &outcome);
        }
        let written = stage.run.logs_calls.then(|| {
            let clock = self.instance.host().stage_clock().take();
            let call = call_record::write(&context, work, self.slot, &outcome, clock);
            Box::new(call)
        });
        Done {
            outcome,
            has_panicked: status == abi::PANIC,
            worked_ns,
            ended_ns,
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

    /// Leaks the instance of a worker that was abandoned: the plugin may still use its host.
    pub(crate) fn abandon(self) -> WorkerExit {
        std::mem::forget(self.instance);
        WorkerExit::default()
    }

    /// Whether the plugin continues after this call, is restarted or ends.
    pub(crate) fn decide(&mut self, done: &mut Done) -> Decision {
        let decision = match &done.outcome {
            Outcome::Fine => {
                self.succeeded();
                Decision::Continue
            }
            Outcome::End | Outcome::Abandoned => Decision::End,
            // The stage checks whether it has to end before its next work.
            Outcome::Stopped | Outcome::Lost => Decision::Continue,
            Outcome::Failed(..) => self.failed(),
        };
        done.gone = decision == Decision::End && self.instance.death().is_some();
        if let Decision::Restart(after) = decision {
            done.restart = Some(after);
            if let Some(call) = &mut done.written {
                call.restarted = true;
            }
        }
        decision
    }

    /// Reports the first success after failures.
    pub(crate) fn succeeded(&mut self) {
        if std::mem::take(&mut self.may_have_failed) {
            let succeeded = supervisor::Event::Succeeded(self.slot);
            self.stage.run.supervise(succeeded);
        }
    }

    /// Reports a failure. Returns the supervisor's decision.
    pub(crate) fn failed(&mut self) -> Decision {
        self.may_have_failed = true;
        let failed = supervisor::Event::Failed {
            slot: self.slot,
            is_alive: self.instance.death().is_none(),
        };
        let decided = |action| match action {
            Action::Decide(decision) => Some(decision),
            _ => None,
        };
        let actions = self.stage.run.supervise(failed).into_iter();
        actions.filter_map(decided).next().unwrap_or(Decision::End)
    }

    /// Reports a call that was lost with the machine of the worker.
    fn lose(&self, done: Done, work: &Work) {
        self.stage.finish_ticket(work.ticket);
        self.stage.report_call(done.written);
        self.conclude(done.outcome, Decision::Continue, work);
    }

    /// Counts and reports the outcome of a call.
    pub(crate) fn conclude(&self, outcome: Outcome, decision: Decision, work: &Work) {
        if let Outcome::Failed(kind, text) = outcome {
            let problem = self.problem(kind, text, work);
            self.stage.conclude(problem, decision);
        }
    }

    /// A problem of this worker's plugin with this work.
    pub(crate) fn problem(&self, kind: ProblemKind, text: String, work: &Work) -> Problem {
        let message = work.message_id(&self.stage);
        let contestant = self.slot.contestant;
        self.stage.problem(kind, contestant, message, text)
    }
}

/// The next work of a stage.
pub(crate) enum NextWork {
    /// There is work.
    Work(Work),
    /// The stream has ended.
    EndOfStream,
    /// The stage has to pause.
    Pause,
    /// The machine of the worker is dead.
    MachineDead,
}

impl Stage {
    /// Waits for the next work of a worker. `since`: when a source's call begins, if the time is known.
    pub(crate) fn next(&self, worker: usize, since: Option<i64>) -> NextWork {
        let gate = &self.gates[worker];
        loop {
            if self.must_end() {
                return NextWork::EndOfStream;
            }
            match self.remote_workers.availability(worker) {
                Availability::Ready => {}
                Availability::Away => {
                    std::thread::sleep(AWAY_STEP);
                    continue;
                }
                Availability::Dead => return NextWork::MachineDead,
            }
            if gate.is_closed() && gate.pauses() {
                return NextWork::Pause;
            }
            if self.outputs_gone.load(Ordering::Relaxed) {
                return NextWork::EndOfStream;
            }
            if self.is_source() {
                let now = since.unwrap_or_else(|| self.run.now());
                return NextWork::Work(Work::event(abi::EVENT_TICK, Descent::default(), now));
            }
            let order = self.order.as_ref();
            let mut inputs = lock(&self.in_edges);
            match inputs.take(gate, order) {
                inputs::Next::Message(port, item)
                    if self.remote_workers.availability(worker) != Availability::Ready =>
                {
                    inputs.put_back(port, item);
                }
                inputs::Next::Message(port, item) => {
                    let ticket = order.map(|order| order.take(worker));
                    drop(inputs);
                    self.counts.received.fetch_add(1, Ordering::Relaxed);
                    let work = Work::message(port, item, self.run.now());
                    return NextWork::Work(Work { ticket, ..work });
                }
                inputs::Next::Ended => return NextWork::EndOfStream,
                inputs::Next::Paused => {}
            }
        }
    }

    /// A worker ends because its machine is dead. The run fails with the last one.
    pub(crate) fn lose_worker(&self, worker: usize) {
        if self.remote_workers.lose(worker) == self.settings.workers {
            let text = "all machines of its workers are dead".to_owned();
            let problem = self.problem(ProblemKind::Crashed, 0, None, text);
            self.run.fail(problem);
        }
    }

    /// Notes how long a call took, unless it only ended the stage.
    pub(crate) fn note_time(&self, work: &Work, done: &Done) {
        if work.event != abi::EVENT_FINISH && !done.only_ends() {
            self.note_latency(done.worked_ns);
        }
    }

    /// The work of a worker at the end of the stream. `None`: it was given before. A plugin that replaces one that failed
    /// there has nothing to emit.
    pub(crate) fn finish(&self, worker: usize) -> Option<Work> {
        if self.finishing[worker].swap(true, Ordering::SeqCst) {
            return None;
        }
        let inputs = lock(&self.in_edges);
        let ticket = self.order.as_ref().map(|order| order.take(worker));
        let work = Work::event(abi::EVENT_FINISH, inputs.descent.clone(), self.run.now());
        Some(Work { ticket, ..work })
    }

    /// Closes the ports if no other worker needs them. The supervisor knows when the last one of several has ended.
    pub(crate) fn close_alone(&self) {
        if self.order.is_none() {
            self.close();
        }
    }

    /// The turn of a call, if it has to wait for it before it emits.
    pub(crate) fn turn(&self, work: &Work) -> Option<Turn<'_>> {
        Turn::of(self.order.as_ref()?, work.ticket?, work.event)
    }
}

/// Why a worker's loop ended.
#[derive(PartialEq, Eq)]
enum LoopEnd {
    /// There is no more work: the plugin may emit what it has buffered.
    Stream,
    /// The plugin is done, or failed.
    Early,
    /// The machine of the worker is dead.
    MachineDead,
}

/// Keeps a source without output from spinning.
#[derive(Default)]
struct IdleBackoff {
    failures: u32,
}

impl IdleBackoff {
    /// Returns whether it slept. It does not after a call that emitted, also when what it emitted was refused: the source
    /// may have more, and one program that sends what is refused must not delay what others send.
    fn after(&mut self, emitted: u64, failed: bool) -> bool {
        let sleeps = emitted == 0;
        self.failures = match failed && sleeps {
            true => self.failures.saturating_add(1),
            false => 0,
        };
        if sleeps {
            // 1 ms, and up to 128 ms for repeated failures.
            std::thread::sleep(Duration::from_millis(1 << self.failures.min(7)));
        }
        sleeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_waits_after_calls_that_emit_nothing() {
        let mut idle = IdleBackoff::default();
        assert!(idle.after(0, false));
        assert_eq!(idle.failures, 0);
        for failures in 1..4 {
            assert!(idle.after(0, true));
            assert_eq!(idle.failures, failures);
        }
        // What it emitted was refused.
        assert!(!idle.after(1, true));
        assert_eq!(idle.failures, 0);
        assert!(!idle.after(1, false));
    }
}
