//! A call of an instance that this machine has for another one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use crossbeam_channel::Receiver;
use flowpipe_abi as abi;
use flowpipe_engine::run::served::ServedCall;
use flowpipe_engine::run::worker_call::{
    LONGEST_MARK, MOST_MARKS, Polls, WorkerDone, WorkerOutput,
};
use flowpipe_host::call::Cancellation;
use flowpipe_host::clock::Clock;
use flowpipe_host::run::{Ended, Mode, RunContext, StageProcess};
use flowpipe_sync::lock;

use super::packets::{PacketSender, Unsent};
use super::protocol::{FromWorker, WorkerAnswer};

/// Why a call failed that has emitted a message that can't be sent.
const TOO_LONG: &str = "it emitted a message that is too long for a link between machines";

/// No poll.
const NEVER: u64 = u64::MAX;
/// The bits of a reason in the number of a cancelled call.
const REASON: u64 = 3;
/// The reason when the run ends.
const STOP: u32 = 3;

/// The run of the machine that distributes the messages.
pub(super) struct DistantRun {
    mode: AtomicU32,
    /// It is dry there or here.
    is_dry: AtomicBool,
    processes: Mutex<Vec<Weak<dyn StageProcess>>>,
    answers: Arc<PacketSender>,
    /// The stages that have had instances, by their names.
    stages: Mutex<BTreeMap<String, usize>>,
}

/// Whether the calls of an instance are cancelled.
pub(super) struct CallControl {
    run: Arc<DistantRun>,
    call: AtomicU64,
    cancelled: AtomicU64,
    is_given_up: AtomicBool,
    polls: AtomicU64,
    /// After how many polls it was first cancelled; [`NEVER`].
    cancelled_after: AtomicU64,
    cancelled_reason: AtomicU32,
    marks: AtomicU64,
    /// Its process, if it has its own.
    pub process: OnceLock<Arc<dyn StageProcess>>,
}

/// A call.
pub(super) struct Call<'a> {
    pub instance: u64,
    pub control: &'a CallControl,
    pub answers: &'a PacketSender,
    pub statuses: &'a Receiver<abi::Status>,
    pub clock: Clock,
    /// Whether the status of the last emission has not come.
    pub is_awaited: AtomicBool,
    /// Whether it has emitted a message that is longer than a link permits.
    pub is_too_long: AtomicBool,
}

impl DistantRun {
    /// `is_dry`: the run here is.
    pub(super) fn new(answers: &Arc<PacketSender>, is_dry: bool) -> Arc<Self> {
        Arc::new(Self {
            mode: AtomicU32::new(0),
            is_dry: AtomicBool::new(is_dry),
            processes: Mutex::default(),
            answers: answers.clone(),
            stages: Mutex::default(),
        })
    }

    pub(super) fn set_dry(&self) {
        self.is_dry.store(true, Ordering::SeqCst);
    }

    /// Advances the mode, which never goes back.
    pub(super) fn set_mode(&self, mode: u32) {
        if self.mode.fetch_max(mode, Ordering::SeqCst) < mode {
            let mode = self.mode();
            for process in lock(&self.processes).iter().filter_map(Weak::upgrade) {
                process.set_mode(mode);
            }
        }
    }

    pub(super) fn add(&self, name: &str, stage: usize) {
        lock(&self.stages).insert(name.to_owned(), stage);
    }
}

impl RunContext for DistantRun {
    fn mode(&self) -> Mode {
        match self.mode.load(Ordering::SeqCst) {
            0 => Mode::Run,
            1 => Mode::Drain,
            2 => Mode::Drop,
            _ => Mode::Abort,
        }
    }

    fn is_dry(&self) -> bool {
        self.is_dry.load(Ordering::SeqCst)
    }

    fn end(&self, ended: Ended) {
        let Ended { stage, how, reason } = ended;
        let Some(stage) = lock(&self.stages).get(&stage).copied() else {
            return;
        };
        let end = WorkerAnswer::end(stage, how, reason);
        // It is of no instance: the one that ends the run may have been given up.
        let end = FromWorker::new(0, Polls::default(), end);
        // The other machine is dead: its run has ended.
        let _ = self.answers.send(end, b"", None);
    }

    fn follow(&self, process: &Arc<dyn StageProcess>) {
        let mut processes = lock(&self.processes);
        processes.retain(|process| process.strong_count() > 0);
        processes.push(Arc::downgrade(process));
        process.set_mode(self.mode());
    }
}

impl CallControl {
    pub(super) fn new(run: &Arc<DistantRun>) -> Arc<Self> {
        Arc::new(Self {
            run: run.clone(),
            call: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            is_given_up: AtomicBool::new(false),
            polls: AtomicU64::new(0),
            cancelled_after: AtomicU64::new(NEVER),
            cancelled_reason: AtomicU32::new(0),
            marks: AtomicU64::new(0),
            process: OnceLock::new(),
        })
    }

    /// A call starts.
    pub(super) fn begin(&self, call: u64) {
        self.call.store(call, Ordering::SeqCst);
        self.polls.store(0, Ordering::SeqCst);
        self.marks.store(0, Ordering::SeqCst);
        self.cancelled_after.store(NEVER, Ordering::SeqCst);
        if let Some(process) = self.process.get() {
            process.set_call(call);
        }
    }

    /// Cancels a call: see [`StageProcess::set_cancelled`].
    pub(super) fn set_cancelled(&self, cancelled: u64) {
        self.cancelled.store(cancelled, Ordering::SeqCst);
        if let Some(process) = self.process.get() {
            process.set_cancelled(cancelled);
        }
    }

    /// Nobody waits for its call any more.
    pub(super) fn give_up(&self, why: &str) {
        self.is_given_up.store(true, Ordering::SeqCst);
        if let Some(process) = self.process.get() {
            process.kill(why);
        }
    }

    /// Whether nobody waits for its call any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    fn reason(&self) -> Option<u32> {
        let cancelled = self.cancelled.load(Ordering::SeqCst);
        let is_watched = cancelled >> 2 == self.call.load(Ordering::SeqCst);
        let watched = is_watched.then_some((cancelled & REASON) as u32);
        let is_stopped = self.is_given_up() || self.run.mode() == Mode::Abort;
        watched.or(is_stopped.then_some(STOP))
    }

    pub(super) fn polls(&self) -> Polls {
        let after = self.cancelled_after.load(Ordering::SeqCst);
        let reason = self.cancelled_reason.load(Ordering::SeqCst);
        Polls {
            count: self.polls.load(Ordering::SeqCst),
            cancelled: (after != NEVER).then_some(Cancellation { after, reason }),
        }
    }
}

impl Call<'_> {
    /// The result of a call that returned this: it fails if a message could not be sent.
    pub(super) fn result(&self, done: WorkerDone) -> WorkerDone {
        match self.is_too_long.load(Ordering::SeqCst) && done.status != abi::PANIC {
            true => WorkerDone {
                status: abi::ERROR,
                error: Some((abi::ERROR, TOO_LONG.to_owned())),
                ..done
            },
            false => done,
        }
    }

    /// Sends what the instance does. It is over if nobody waits for it.
    fn send(&self, what: WorkerAnswer, output: Option<&WorkerOutput>) -> Result<(), Unsent> {
        let answer = FromWorker::new(self.instance, self.control.polls(), what);
        let json = output.and_then(|it| it.json.as_deref()).unwrap_or_default();
        let frame = output.and_then(|it| it.frame.as_ref());
        match self.control.is_given_up() {
            true => Err(Unsent::Over),
            false => self.answers.send(answer, json, frame).map(|_| ()),
        }
    }

    /// Waits for a status. `None`: nobody waits for the call any more.
    fn status(&self) -> Option<abi::Status> {
        self.statuses.recv().ok()
    }

    /// Waits for the status of the last emission, if it has not come.
    fn last_status(&self) -> abi::Status {
        match self.is_awaited.swap(false, Ordering::SeqCst) {
            true => self.status().unwrap_or(abi::STOPPED),
            false => abi::OK,
        }
    }
}

impl ServedCall for Call<'_> {
    fn emit(&self, output: Option<WorkerOutput>) -> abi::Status {
        // One is on its way at a time, and the call can return meanwhile: then the other machine has all of it.
        // After one that was refused, the next one is sent all the same, as on one machine.
        if let status @ (abi::STOPPED | abi::CANCELLED) = self.last_status() {
            return status;
        }
        let sent = self.send(WorkerAnswer::emit(output.as_ref()), output.as_ref());
        match sent {
            Ok(()) => {
                self.is_awaited.store(true, Ordering::SeqCst);
                abi::OK
            }
            Err(Unsent::TooLong) => {
                self.is_too_long.store(true, Ordering::SeqCst);
                abi::BAD_MESSAGE
            }
            Err(Unsent::Over) => abi::STOPPED,
        }
    }

    fn is_cancelled(&self) -> bool {
        let control = self.control;
        let reason = control.reason();
        if let Some(reason) = reason
            && control.cancelled_after.load(Ordering::SeqCst) == NEVER
        {
            control.cancelled_reason.store(reason, Ordering::SeqCst);
            let polls = control.polls.load(Ordering::SeqCst);
            control.cancelled_after.store(polls, Ordering::SeqCst);
        }
        control.polls.fetch_add(1, Ordering::SeqCst);
        reason.is_some()
    }

    fn mark(&self, name: &str, at_ns: Option<i64>) {
        // One more, so that the other machine reports that it ignores some.
        if self.control.marks.fetch_add(1, Ordering::SeqCst) <= MOST_MARKS {
            let name = name[..name.floor_char_boundary(LONGEST_MARK)].to_owned();
            let at_ns = at_ns.unwrap_or_else(|| self.clock.now());
            // Otherwise nobody waits for the call any more.
            let _ = self.send(WorkerAnswer::Mark { name, at_ns }, None);
        }
    }

    fn wait_until(&self, deadline_ns: i64) -> abi::Status {
        self.last_status();
        match self.send(WorkerAnswer::Wait { deadline_ns }, None) {
            Ok(()) => self.status().unwrap_or(abi::CANCELLED),
            Err(_) => abi::CANCELLED,
        }
    }

    fn catch_up(&self, polls: Polls) {
        let control = self.control;
        control.polls.store(polls.count, Ordering::SeqCst);
        if let Some(Cancellation { after, reason }) = polls.cancelled {
            control.cancelled_reason.store(reason, Ordering::SeqCst);
            control.cancelled_after.store(after, Ordering::SeqCst);
        }
    }
}
