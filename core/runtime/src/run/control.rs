//! The control thread: creates the stages, watches over them while they run, ends them.
//!
//! What is to be done about plugins that fail, hang, pause or end is decided by the [`Supervisor`]. The control thread
//! reports to it what happens, and does what it returns ([`crate::run::perform`]).
//!
//! [`Supervisor`]: crate::run::supervisor::Supervisor

use std::collections::{HashMap, VecDeque};
use std::sync::TryLockError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};

use crate::plugin::instance::Instance;
use crate::problem::{Problem, ProblemKind};
use crate::replay::Excess;
use crate::report::Report;
use crate::run::StartError;
use crate::run::create::create;
use crate::run::driver::News;
use crate::run::instances::Instances;
use crate::run::journal;
use crate::run::plan::Plan;
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::summary::{self, Scene};
use crate::run::supervisor::watchdog::{Limits, nanoseconds};
use crate::run::supervisor::{self, DEFERRED, Exit, Resumed, Settings, Slot};
use crate::run::swap::pausing::{Request, Resume};
use crate::run::threads::{Role, Thread, Threads, WorkerExit};
use crate::run::watch::{Look, Reason, Watch};

/// What wakes the control thread.
pub(crate) enum Event {
    /// Something changed: look again.
    Nudge,
    /// A thread has ended, and hands back its instances.
    Ended {
        /// The number of the thread.
        id: usize,
        exit: WorkerExit,
        /// It panicked, which is a fault of this program.
        panicked: bool,
    },
    /// A plugin with a process of its own was created, or could not be.
    Created(Slot, Box<Result<Instance, StartError>>),
    /// One was destroyed.
    Destroyed(Slot),
    /// Stages are to pause, so that they can be changed.
    Pause(Request),
    /// They continue.
    Resume(Resume),
}

/// The control thread's own.
pub(crate) struct Control {
    pub plan: Plan,
    pub threads: Threads,
    pub instances: Instances,
    /// To the race of a stage, by the stage's number.
    pub races: HashMap<usize, Sender<News>>,
    /// Who wants stages to pause.
    pub request: Option<Request>,
    /// Why a thread could not be started.
    pub failed_start: Option<StartError>,
    scene: Scene,
}

/// The shortest sleep of the control thread.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(60);

/// How often to look whether whoever asked for a pause still lives.
const LOOK: Duration = Duration::from_secs(1);

impl Control {
    pub(crate) fn new(plan: Plan, scene: Scene) -> Self {
        Self {
            threads: Threads::default(),
            instances: Instances::new(plan.shared.clone()),
            races: HashMap::new(),
            request: None,
            failed_start: None,
            plan,
            scene,
        }
    }

    /// Runs from the start to the end. Reports on `ready` when the pipeline has started, or why it could not.
    pub(crate) fn run(mut self, ready: &Sender<Result<(), StartError>>) -> Report {
        let started = self.start();
        if started.is_err() {
            self.plan.shared.abort();
        }
        // The starter waits for this; gone only if it panicked.
        let _ = ready.send(started);
        self.watch();
        self.apply(supervisor::Event::Over);
        self.instances.destroy_all();
        let Plan { name, shared, .. } = self.plan;
        let line = self.scene.line();
        summary::report(name, &shared, &line.stages, &line.edges)
    }

    /// Creates all stages first, so that nothing runs when one refuses.
    fn start(&mut self) -> Result<(), StartError> {
        let mut resumed = Vec::new();
        for (stage, found) in self.plan.stages.iter().zip(&self.plan.found) {
            for (contestant, found) in found.iter().enumerate() {
                match create(stage, contestant, found) {
                    Ok(instance) => self.instances.put(stage.slot(contestant), instance),
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
                settings: Some(Settings::new(stage, found.len())),
                present: (0..found.len()).collect(),
                lost: Vec::new(),
            });
        }
        self.apply(supervisor::Event::Resumed(resumed));
        match self.failed_start.take() {
            None => Ok(()),
            Some(error) => {
                // What has started ends by itself: the run is aborted.
                self.plan.stages.iter().for_each(|stage| stage.close());
                Err(error)
            }
        }
    }

    /// Sleeps, and between looks after the threads, until all have ended.
    fn watch(&mut self) {
        loop {
            for slot in self.instances.destroy_leaving() {
                self.apply(supervisor::Event::Destroyed(slot));
            }
            self.look_after_asker();
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
            let mut sleep = self.look().min(tick);
            if self.instances.some_leave() {
                sleep = sleep.min(DEFERRED);
            }
            if self.request.is_some() {
                sleep = sleep.min(LOOK);
            }
            match self.plan.events.recv_timeout(sleep.max(SHORTEST)) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Nudge => {}
            Event::Ended { id, exit, panicked } => self.ended(id, exit, panicked),
            Event::Created(slot, created) => self.note_created(slot, *created),
            Event::Destroyed(slot) => self.apply(supervisor::Event::Destroyed(slot)),
            Event::Pause(request) => self.pause(request),
            Event::Resume(resume) => self.resume(resume),
        }
    }

    /// Reports to the supervisor what happened, and does what it returns.
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
            let text = "its thread panicked, which is a fault of flowpipe itself".to_owned();
            let problem = stage.problem(ProblemKind::Failed, thread.contestant(), None, text);
            self.plan.shared.fail(problem);
        }
        let contestants = match thread.role {
            Role::Plugin(contestant) => contestant..contestant + 1,
            Role::Replay => 0..stage.settings.contestants.len(),
            Role::Race => {
                self.apply(supervisor::Event::RaceEnded {
                    stage: stage.index,
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
        let exits: Vec<_> = (0..contestants.len()).map(how).collect();
        let slots = contestants.map(|contestant| stage.slot(contestant));
        let slots: Vec<_> = slots.collect();
        for (slot, instance) in slots.iter().zip(exit.instances) {
            self.instances.put(*slot, instance);
        }
        for (slot, exit) in slots.into_iter().zip(exits) {
            self.apply(supervisor::Event::Ended(slot, exit));
        }
        thread.join();
    }

    /// Looks at every worker once; returns how long nothing can happen.
    fn look(&mut self) -> Duration {
        let (now, mode) = (self.plan.shared.now(), self.plan.shared.mode());
        let mut sleep = LONGEST;
        for id in self.threads.ids() {
            let Some(thread) = self.threads.get_mut(id) else {
                continue;
            };
            let Some(watch) = thread.watch.clone() else {
                continue;
            };
            let settings = &thread.stage.settings;
            let limits = Limits {
                timeout: settings.timeout,
                watchdog: settings.watchdog,
                mode,
                is_source: thread.stage.is_source(),
            };
            // Work that starts a moment from now has its own time.
            sleep = sleep.min(limits.soonest());
            let Some(look) = watch.look(now) else {
                continue;
            };
            let finding = thread.watchdog.look(&look, &limits);
            if let Some(reason) = finding.cancel {
                watch.cancel(look.call, reason);
            }
            if let Some(worked) = finding.warn {
                let text = format!("it has not come back for {worked:.1?}");
                let problem = thread.problem(ProblemKind::Slow, &look, text);
                thread.stage.run.report(problem);
            }
            sleep = sleep.min(finding.next);
            if let Some(why) = finding.hangs {
                let busy = thread.processes.iter().find(|process| process.is_busy());
                match busy {
                    // Its thread comes back by itself then.
                    Some(process) => process.kill(&why),
                    None if thread.processes.is_empty() => self.abandon(id, &watch, &look, &why),
                    None => {}
                }
                sleep = SHORTEST;
            }
        }
        sleep
    }

    /// Leaves a worker that hangs behind, unless it has come back meanwhile.
    fn abandon(&mut self, id: usize, watch: &Watch, look: &Look, why: &str) {
        let Some(thread) = self.threads.get_mut(id) else {
            return;
        };
        let stage = thread.stage.clone();
        let races = thread.role != Role::Replay && stage.settings.contestants.len() > 1;
        let is_abandoned = match races {
            // The ports are the race's, which continues without this contestant.
            true => watch.give_up(look.call),
            // Held by a worker that sends or waits for a message, and such a worker does not hang.
            false => match stage.ports.try_lock() {
                Ok(_ports) => watch.give_up(look.call),
                Err(TryLockError::Poisoned(_ports)) => watch.give_up(look.call),
                Err(TryLockError::WouldBlock) => return,
            },
        };
        if !is_abandoned {
            return;
        }
        // Never joined: it may not end before the process does.
        let Some(thread) = self.threads.end(id) else {
            return;
        };
        let contestant = thread.contestant();
        stage.counts.given_up.fetch_add(1, Ordering::Relaxed);
        if stage.run.logs_calls {
            let call = journal::write_hung(&stage, contestant, look, why);
            stage.tell_call(Some(Box::new(call)));
        }
        let text = format!("{why}; it is left behind");
        let problem = thread.problem(ProblemKind::Hang, look, text);
        let can_create = self.instances.can_create();
        let replay = stage.run.replay.as_ref();
        let excess = replay.and_then(|replay| replay.abandon(&stage));
        let was_stopped = look.cancelled == Some(Reason::Stop) || excess.is_some();
        self.apply(supervisor::Event::Hung {
            slot: stage.slot(contestant),
            was_stopped,
            // What it took once it would take again.
            is_final: excess.is_some(),
            can_create,
            problem,
        });
        if excess == Some(Excess::Memory) {
            // It goes on taking it: there is nothing to be done but to end the process.
            self.plan.shared.advance(Mode::Abort);
        }
    }

    /// Whoever asked for a pause may have panicked.
    fn look_after_asker(&mut self) {
        let gone = |request: &Request| request.asker.strong_count() == 0;
        if !self.request.as_ref().is_some_and(gone) {
            return;
        }
        self.request = None;
        let text =
            "the thread that changed the pipeline failed, which is a fault of flowpipe itself";
        let stage = self.plan.stages.first();
        let problem = stage.map(|it| it.problem(ProblemKind::Failed, 0, None, text.to_owned()));
        self.apply(supervisor::Event::AskerGone(problem));
    }
}

impl Thread {
    fn problem(&self, kind: ProblemKind, look: &Look, text: String) -> Problem {
        let message = look
            .message
            .map(|it| self.stage.message_id(it.port, it.sequence, it.frame));
        self.stage.problem(kind, self.contestant(), message, text)
    }
}

impl Stage {
    /// The place of one of its plugins.
    pub(crate) fn slot(&self, contestant: usize) -> Slot {
        Slot {
            stage: self.index,
            contestant,
        }
    }
}
