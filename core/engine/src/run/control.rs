//! The control thread: creates the stages, supervises them while they run, and ends them.
//!
//! The [`Supervisor`] decides what to do about plugins that fail, hang, pause or end. The control thread reports events
//! to it and performs the actions that it returns ([`crate::run::perform`]).
//!
//! [`Supervisor`]: crate::supervisor::Supervisor

use std::collections::{HashMap, VecDeque};
use std::sync::TryLockError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};
use flowpipe_host::problem::{Problem, ProblemKind};

use crate::report::Report;
use crate::run::call_record;
use crate::run::create::create;
use crate::run::driver::RaceEvent;
use crate::run::error::StartError;
use crate::run::event::ControlEvent;
use crate::run::exit::WorkerExit;
use crate::run::instances::Instances;
use crate::run::plan::Plan;
use crate::run::reload::pausing::Request;
use crate::run::summary::{self, CurrentTopology};
use crate::run::threads::{Role, Thread, Threads};
use crate::supervisor::{self, Action, DEFERRED, Exit, Resumed, StopCause, WorkerId};
use crate::watch::{CallSnapshot, Reason, Watch, nanoseconds};

/// The state of the control thread.
pub(crate) struct Control {
    pub plan: Plan,
    pub threads: Threads,
    pub instances: Instances,
    /// Channels to the races.
    pub races: HashMap<WorkerId, Sender<RaceEvent>>,
    /// The pending request to pause stages.
    pub request: Option<Request>,
    /// Why a thread failed to start.
    pub failed_start: Option<StartError>,
    current: CurrentTopology,
}

/// The shortest sleep of the control thread.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(60);

/// How often to check whether the thread that requested a pause still exists.
const REQUESTER_CHECK: Duration = Duration::from_secs(1);

impl Control {
    pub(crate) fn new(plan: Plan, current: CurrentTopology) -> Self {
        Self {
            threads: Threads::default(),
            instances: Instances::new(plan.shared.clone()),
            races: HashMap::new(),
            request: None,
            failed_start: None,
            plan,
            current,
        }
    }

    /// Runs the pipeline from start to end. Sends on `ready` when it has started, or why it failed to start.
    pub(crate) fn run(mut self, ready: &Sender<Result<(), StartError>>) -> Report {
        let started = self.start();
        let has_started = started.is_ok();
        if !has_started {
            self.plan.shared.stop(StopCause::Abort);
        }
        // The starting thread waits for this; it is gone only if it panicked.
        let _ = ready.send(started);
        self.watch();
        self.apply(supervisor::Event::Over);
        if has_started {
            let observers = self.plan.shared.observers.iter();
            observers.for_each(|it| it.ended());
        }
        self.instances.destroy_all();
        let Plan { name, shared, .. } = self.plan;
        let topology = self.current.topology();
        // A worker that was abandoned may still be in a call.
        let mut counts = topology.stages.iter().map(|stage| &stage.counts.abandoned);
        if counts.all(|abandoned| abandoned.load(Ordering::Relaxed) == 0) {
            shared.checks.end();
        }
        summary::report(name, &shared, &topology.stages, &topology.edges)
    }

    /// Creates all stages first, so that nothing runs when one fails to start.
    fn start(&mut self) -> Result<(), StartError> {
        let mut resumed = Vec::new();
        for (stage, found) in self.plan.stages.iter().zip(&self.plan.found) {
            let slots: Vec<_> = stage.slots(found.len()).collect();
            for &slot in &slots {
                match create(stage, slot, &found[slot.contestant]) {
                    Ok(instance) => self.instances.put(slot, instance),
                    Err(error) => {
                        let none = Instances::new(self.plan.shared.clone());
                        std::mem::replace(&mut self.instances, none).destroy_all();
                        self.plan.stages.iter().for_each(|stage| stage.close());
                        return Err(error);
                    }
                }
            }
            resumed.push(Resumed {
                stage: stage.index,
                settings: Some(stage.supervision(found.len())),
                present: slots,
                lost: Vec::new(),
            });
        }
        self.apply(supervisor::Event::Resumed(resumed));
        match self.failed_start.take() {
            None => Ok(()),
            Some(error) => {
                // The threads that have started end by themselves: the run is aborted.
                self.plan.stages.iter().for_each(|stage| stage.close());
                Err(error)
            }
        }
    }

    /// Supervises the threads until all have ended.
    fn watch(&mut self) {
        loop {
            for slot in self.instances.destroy_leaving() {
                self.apply(supervisor::Event::Destroyed(slot));
            }
            self.check_requester();
            self.apply(supervisor::Event::Tick);
            let (is_over, tick) = {
                let supervisor = self.plan.shared.supervisor();
                (supervisor.is_over(), supervisor.next_tick())
            };
            if is_over {
                return;
            }
            let now = self.plan.shared.now();
            let tick = tick.map_or(LONGEST, |at| nanoseconds(at.saturating_sub(now)));
            let mut sleep = self.check_workers().min(tick);
            if self.instances.some_leave() {
                sleep = sleep.min(DEFERRED);
            }
            if self.request.is_some() {
                sleep = sleep.min(REQUESTER_CHECK);
            }
            match self.plan.events.recv_timeout(sleep.max(SHORTEST)) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn handle(&mut self, event: ControlEvent) {
        match event {
            ControlEvent::Nudge => {}
            ControlEvent::Ended { id, exit, panicked } => self.ended(id, exit, panicked),
            ControlEvent::Created(slot, created) => self.note_created(slot, *created),
            ControlEvent::Destroyed(slot) => self.apply(supervisor::Event::Destroyed(slot)),
            ControlEvent::Pause(request) => self.pause(request),
            ControlEvent::Resume(resume) => self.resume(resume),
        }
    }

    /// Reports an event to the supervisor, and performs the actions that it returns.
    pub(crate) fn apply(&mut self, event: supervisor::Event) {
        let mut actions = VecDeque::from(self.plan.shared.supervise(event));
        while let Some(action) = actions.pop_front() {
            if let Some(event) = self.perform(action) {
                actions.extend(self.plan.shared.supervise(event));
            }
        }
    }

    fn ended(&mut self, id: usize, mut exit: WorkerExit, panicked: bool) {
        let Some(thread) = self.threads.end(id) else {
            return;
        };
        let stage = thread.stage.clone();
        if panicked {
            let text = "its thread panicked, which is a bug in flowpipe itself".to_owned();
            let contestant = thread.slot().contestant;
            let problem = stage.problem(ProblemKind::Failed, contestant, None, text);
            self.plan.shared.fail(problem);
            if let Some(order) = &stage.order {
                order.abandon(thread.slot().worker);
            }
        }
        let slots = match thread.role {
            Role::Plugin(slot) => vec![slot],
            Role::Replay => stage.slots(stage.settings.contestants.len()).collect(),
            Role::Race(race) => {
                self.apply(supervisor::Event::RaceEnded {
                    race,
                    to_pause: exit.is_paused,
                });
                return thread.join();
            }
        };
        let restart = exit.restart.take();
        let how = |which: usize| match restart {
            _ if panicked => Exit::Panicked,
            Some((it, after)) if it == which => Exit::Restart(after),
            Some(_) => Exit::Waits,
            None if exit.is_paused => Exit::Paused,
            None => Exit::Finished,
        };
        let exits: Vec<_> = (0..slots.len()).map(how).collect();
        for (slot, instance) in slots.iter().zip(exit.instances) {
            self.instances.put(*slot, instance);
        }
        for (slot, exit) in slots.into_iter().zip(exits) {
            self.apply(supervisor::Event::Ended(slot, exit));
        }
        thread.join();
    }

    /// Observes every call in progress once. Returns how long no further check is needed.
    fn check_workers(&mut self) -> Duration {
        let now = self.plan.shared.now();
        let mut sleep = LONGEST;
        for id in self.threads.ids() {
            let Some(thread) = self.threads.get(id) else {
                continue;
            };
            let Some(watch) = thread.watch.clone() else {
                continue;
            };
            // Also for work that starts a moment from now.
            sleep = sleep.min(thread.stage.first_check());
            let Some(snapshot) = watch.snapshot(now) else {
                continue;
            };
            let observed = supervisor::Event::Observed {
                slot: thread.slot(),
                call: snapshot,
                process: thread.call_process(),
            };
            for action in self.plan.shared.supervise(observed) {
                sleep = sleep.min(self.treat(id, &watch, &snapshot, action));
            }
        }
        sleep
    }

    /// Performs an action on a call in progress. Returns when to check it again.
    fn treat(
        &mut self,
        id: usize,
        watch: &Watch,
        snapshot: &CallSnapshot,
        action: Action,
    ) -> Duration {
        let Some(thread) = self.threads.get(id) else {
            return SHORTEST;
        };
        match action {
            Action::Cancel { call, reason } => watch.cancel(call, reason),
            Action::Warn { worked } => {
                let text = format!("it has not come back for {worked:.1?}");
                let problem = thread.problem(ProblemKind::Slow, snapshot, text);
                thread.stage.run.report(problem);
            }
            Action::Kill { why } => {
                let busy = thread.processes.iter().find(|process| process.is_busy());
                if let Some(process) = busy {
                    process.kill(&why);
                }
                return SHORTEST;
            }
            Action::Abandon { why } => {
                self.abandon(id, watch, snapshot, &why);
                return SHORTEST;
            }
            Action::ObserveAgain { after } => return after,
            // No other action answers an observation.
            _ => {}
        }
        LONGEST
    }

    /// Abandons a worker that hangs, unless its call has returned meanwhile.
    fn abandon(&mut self, id: usize, watch: &Watch, snapshot: &CallSnapshot, why: &str) {
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        let stage = thread.stage.clone();
        let races = thread.role != Role::Replay && stage.races();
        let is_abandoned = match races {
            // The race owns the ports, and continues without this contestant.
            true => watch.abandon(snapshot.call),
            // Whoever holds the lock sends. If that is this worker, it does not hang; if not, check again soon.
            false => match stage.out_edges.try_lock() {
                Ok(_outputs) => watch.abandon(snapshot.call),
                Err(TryLockError::Poisoned(_outputs)) => watch.abandon(snapshot.call),
                Err(TryLockError::WouldBlock) => return,
            },
        };
        if !is_abandoned {
            return;
        }
        // Never joined: it may never end.
        let Some(thread) = self.threads.end(id) else {
            return;
        };
        let slot = thread.slot();
        // A race finishes the message of its worker.
        if let Some(order) = stage.order.as_ref().filter(|_| !races) {
            order.abandon(slot.worker);
        }
        stage.counts.abandoned.fetch_add(1, Ordering::Relaxed);
        if stage.run.logs_calls {
            let call = call_record::write_hung(&stage, slot, snapshot, why);
            stage.report_call(Some(Box::new(call)));
        }
        let text = format!("{why}; it was abandoned");
        let problem = thread.problem(ProblemKind::Hang, snapshot, text);
        let can_create = self.instances.can_create();
        let replay = stage.run.replay.as_ref();
        let excess = replay.and_then(|replay| replay.abandon(&stage));
        self.apply(supervisor::Event::Hung {
            slot,
            was_stopped: snapshot.cancelled == Some(Reason::Stop),
            excess,
            can_create,
            problem,
        });
        // After the report that its message is lost. In a race this releases nothing: the driver does.
        watch.release_receipt();
    }

    /// Handles that the thread that requested a pause has panicked.
    fn check_requester(&mut self) {
        let gone = |request: &Request| request.requester.strong_count() == 0;
        if !self.request.as_ref().is_some_and(gone) {
            return;
        }
        self.request = None;
        let text =
            "the thread that changed the pipeline panicked, which is a bug in flowpipe itself";
        let stage = self.plan.stages.first();
        let problem = stage.map(|it| it.problem(ProblemKind::Failed, 0, None, text.to_owned()));
        self.apply(supervisor::Event::RequesterGone(problem));
    }
}

impl Thread {
    fn problem(&self, kind: ProblemKind, snapshot: &CallSnapshot, text: String) -> Problem {
        let message = snapshot
            .message
            .map(|it| self.stage.message_id(it.port, it.sequence, it.frame));
        let contestant = self.slot().contestant;
        self.stage.problem(kind, contestant, message, text)
    }
}
