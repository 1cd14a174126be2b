//! The control thread: makes the stages, watches over them while they run, ends them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};

use crate::pipeline::OnError;
use crate::plugin::instance::Instance;
use crate::problem::{Problem, ProblemKind};
use crate::report::Report;
use crate::run::StartError;
use crate::run::crew::{self, Hand, Notes};
use crate::run::driver::News;
use crate::run::journal;
use crate::run::plan::Plan;
use crate::run::shared::Mode;
use crate::run::stage::Ports;
use crate::run::summary::{self, Scene};
use crate::run::swap::pausing::{self, Pausing};
use crate::run::watch::{Look, Reason, Watch};

/// What wakes the control thread.
pub(crate) enum Event {
    /// Something changed: look again.
    Nudge,
    /// A thread has ended, and hands back its instances.
    Ended {
        /// Index of the thread.
        id: usize,
        /// None: a driver's thread, or one that was given up.
        instances: Vec<Instance>,
        /// Its stage pauses, and has more to do.
        paused: bool,
        /// It panicked, which is a fault of this program.
        panicked: bool,
    },
    /// Stages are to pause, so that they can be changed.
    Pause(pausing::Request),
    /// They go on, as they are told here.
    Resume(pausing::Resume),
}

/// The control thread's own.
pub(crate) struct Control {
    pub(super) plan: Plan,
    pub(super) hands: Vec<Hand>,
    /// Instances whose threads have ended.
    pub(super) ended: Vec<Instance>,
    /// Stages that pause, or are about to.
    pub(super) pausing: Option<Pausing>,
    scene: Scene,
}

/// When the run is aborted, plugins get at most this long to notice.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// A stage that hangs more often than this is not made anew again: each time leaves a thread behind.
const MOST_GIVEN_UP: u64 = 32;

/// The shortest sleep of the watchdog.
const SHORTEST: Duration = Duration::from_millis(1);

impl Control {
    pub(crate) fn new(plan: Plan, scene: Scene) -> Self {
        Self {
            plan,
            hands: Vec::new(),
            ended: Vec::new(),
            pausing: None,
            scene,
        }
    }

    /// Lives through a whole run. Says on `ready` when it has started, or why it could not.
    pub(crate) fn run(mut self, ready: &Sender<Result<(), StartError>>) -> Report {
        let started = self.start();
        if started.is_err() {
            self.plan.shared.abort();
        }
        // The starter waits for this; gone only if it panicked.
        let _ = ready.send(started);
        self.watch();
        self.destroy_ended();
        let Plan { name, shared, .. } = self.plan;
        let line = self.scene.line();
        summary::report(name, &shared, &line.stages, &line.edges)
    }

    /// Ends the instances whose threads have ended.
    fn destroy_ended(&mut self) {
        let calls = self.plan.shared.control_calls();
        for instance in self.ended.drain(..) {
            match &calls {
                Some(_) => instance.destroy(),
                None => std::mem::forget(instance),
            }
        }
    }

    /// Makes all stages first, so that nothing runs when one refuses.
    fn start(&mut self) -> Result<(), StartError> {
        let mut crews: Vec<Vec<Instance>> = Vec::new();
        for (stage, found) in self.plan.stages.iter().zip(&self.plan.found) {
            let mut crew = Vec::new();
            for (contestant, found) in found.iter().enumerate() {
                match crew::make(stage, contestant, found) {
                    Ok(instance) => crew.push(instance),
                    Err(error) => {
                        crews.push(crew);
                        crews.into_iter().flatten().for_each(Instance::destroy);
                        self.plan.stages.iter().for_each(|stage| stage.close());
                        return Err(error);
                    }
                }
            }
            crews.push(crew);
        }
        for (stage, crew) in self.plan.stages.iter().zip(crews) {
            if let Err(error) = crew::start(stage, crew, &mut self.hands) {
                // What has started ends by itself: the run is aborted.
                self.plan.stages.iter().for_each(|stage| stage.close());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Sleeps, and between looks after the threads, until all have ended.
    fn watch(&mut self) {
        while self.pausing.is_some() || self.hands.iter().any(|hand| hand.thread.is_some()) {
            let sleep = self.look().min(self.go_on_pausing()).max(SHORTEST);
            match self.plan.events.recv_timeout(sleep) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let (id, instances, paused, panicked) = match event {
            Event::Ended {
                id,
                instances,
                paused,
                panicked,
            } => (id, instances, paused, panicked),
            Event::Pause(request) => return self.begin_to_pause(request),
            Event::Resume(resume) => return self.resume(resume),
            Event::Nudge => return,
        };
        let Some(hand) = self.hands.get_mut(id) else {
            self.ended.extend(instances);
            return;
        };
        hand.is_free = true;
        let (stage, contestant) = (hand.stage.index, hand.contestant);
        match &mut self.pausing {
            Some(pausing) => {
                let instances = instances.into_iter();
                let instances = instances.map(|instance| (contestant, instance)).collect();
                self.ended
                    .extend(pausing.note_ended(stage, instances, paused));
            }
            None => self.ended.extend(instances),
        }
        let Some(thread) = hand.thread.take() else {
            return;
        };
        if panicked {
            let text = "its thread panicked, which is a fault of flowpipe itself".to_owned();
            let problem = hand
                .stage
                .problem(ProblemKind::Failed, hand.contestant, None, text);
            self.plan.shared.fail(problem);
        }
        // It has said that it ends: this does not wait. Its panic, if any, was caught.
        let _ = thread.join();
    }

    /// Looks at every worker once; returns how long nothing can happen.
    fn look(&mut self) -> Duration {
        let now = self.plan.shared.now();
        let mut sleep = Duration::from_secs(60);
        for id in 0..self.hands.len() {
            let hand = &mut self.hands[id];
            let (Some(watch), Some(_)) = (hand.watch.clone(), &hand.thread) else {
                continue;
            };
            let Some(look) = watch.look(now) else {
                let settings = &hand.stage.settings;
                let soonest = settings
                    .timeout
                    .map_or(settings.watchdog, |it| it.min(settings.watchdog));
                sleep = sleep.min(soonest);
                continue;
            };
            match hand.judge(&watch, &look) {
                Verdict::Later(time) => sleep = sleep.min(time),
                Verdict::Hangs(why) => {
                    self.give_up(id, &watch, &look, &why);
                    sleep = SHORTEST;
                }
            }
        }
        sleep
    }

    /// Gives a worker up, and makes its stage anew or ends it, unless it has come back
    /// meanwhile.
    fn give_up(&mut self, id: usize, watch: &Watch, look: &Look, why: &str) {
        let hand = &self.hands[id];
        let stage = &hand.stage;
        let anew = stage.settings.on_error == OnError::Skip
            && !stage.must_end()
            && stage.counts.given_up.load(Ordering::Relaxed) < MOST_GIVEN_UP;
        if hand.driver.is_some() {
            // The ports are the driver's, which goes on without this contestant.
            if !watch.give_up(look.call) {
                return;
            }
        } else {
            // Held by a worker that sends or waits for a message, and such a worker does not hang.
            let mut ports = match stage.ports.try_lock() {
                Ok(ports) => ports,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            if !watch.give_up(look.call) {
                return;
            }
            let taken = if anew {
                Ports::default()
            } else {
                std::mem::take(&mut *ports)
            };
            // In this order: what is still queued is freed outside the lock.
            drop(ports);
            drop(taken);
            if !anew {
                stage.over.store(true, Ordering::SeqCst);
            }
        }
        self.replace(id, look, why, anew);
    }

    /// Tells of a worker that was given up, and puts another in its place.
    fn replace(&mut self, id: usize, look: &Look, why: &str, anew: bool) {
        let hand = &mut self.hands[id];
        // Never joined: it may not end before the process does.
        hand.thread.take();
        let stage = hand.stage.clone();
        let contestant = hand.contestant;
        let driver = hand.driver.clone();
        stage.counts.given_up.fetch_add(1, Ordering::Relaxed);
        if stage.run.logs_calls {
            let call = journal::write_hung(&stage, contestant, look, why);
            stage.tell_call(Some(Box::new(call)));
        }
        let problem = hand.problem(ProblemKind::Hang, look, format!("{why}; it is left behind"));
        if driver.is_none() && !anew && look.cancelled != Some(Reason::Stop) && !stage.must_end() {
            self.plan.shared.fail(problem);
        } else {
            self.plan.shared.report(problem);
        }
        if let Some(driver) = &driver {
            // Gone only when the driver has ended and needs nobody.
            let _ = driver.send(News::GivenUp { contestant });
        }
        if anew && let Err(error) = self.start_anew(id) {
            let problem = stage.problem(ProblemKind::Replace, contestant, None, error.to_string());
            if driver.is_none() {
                stage.close();
                if let Some(replay) = &self.plan.shared.replay {
                    replay.end(stage.index);
                }
                self.plan.shared.fail(problem);
            } else {
                self.plan.shared.report(problem);
            }
        }
    }

    fn start_anew(&mut self, id: usize) -> Result<(), StartError> {
        let hand = &self.hands[id];
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        let found = self
            .plan
            .found
            .get(stage.index)
            .and_then(|found| found.get(contestant));
        let Some(found) = found else {
            return Err(StartError::Control);
        };
        if self.plan.shared.replay.is_some() {
            // One thread calls all its plugins.
            let all = self.plan.found.get(stage.index).into_iter().flatten();
            let make = |(contestant, found)| crew::make(&stage, contestant, found);
            let instances = all.enumerate().map(make).collect::<Result<_, _>>()?;
            return crew::start(&stage, instances, &mut self.hands);
        }
        let driver = hand.driver.clone();
        let instance = match self.plan.shared.control_calls() {
            Some(_calls) => crew::make(&stage, contestant, found)?,
            None => return Err(StartError::Control),
        };
        let next = crew::place(&self.hands);
        let hand = match &driver {
            None => crew::start_worker(&stage, instance, next)?,
            Some(driver) => crew::start_contestant(&stage, contestant, instance, next, driver)?,
        };
        crew::seat(&mut self.hands, next, hand);
        Ok(())
    }
}

/// What the watchdog thinks of a worker.
enum Verdict {
    /// Look again after this time.
    Later(Duration),
    /// It has had its chance. In words.
    Hangs(String),
}

impl Hand {
    /// Cancels, warns, condemns.
    fn judge(&mut self, watch: &Arc<Watch>, look: &Look) -> Verdict {
        if self.notes.call != Some(look.call) {
            self.notes = Notes {
                call: Some(look.call),
                ..Notes::default()
            };
        }
        let stage = self.stage.clone();
        let settings = &stage.settings;
        let worked = nanoseconds(look.worked);
        let mode = stage.run.mode();
        let stops = mode == Mode::Abort || mode >= Mode::Drain && stage.is_source();
        let mut cancelled = look.cancelled.or(stops.then_some(Reason::Stop));
        let mut next = Duration::MAX;
        if let (None, Some(timeout)) = (cancelled, settings.timeout) {
            if worked >= timeout {
                watch.cancel(look.call, Reason::Timeout);
                cancelled = Some(Reason::Timeout);
            } else {
                next = timeout - worked;
            }
        }
        if let Some(reason) = cancelled {
            let since = nanoseconds(*self.notes.cancelled_at.get_or_insert(look.worked));
            let grace = if mode == Mode::Abort {
                settings.watchdog.min(ABORT_GRACE)
            } else {
                settings.watchdog
            };
            let ignored = worked.saturating_sub(since);
            if ignored >= grace {
                return Verdict::Hangs(condemn(reason, worked, settings.timeout));
            }
            next = next.min(grace - ignored);
        }
        if !self.notes.warned {
            if worked >= settings.watchdog {
                self.notes.warned = true;
                let text = format!("it has not come back for {worked:.1?}");
                self.stage
                    .run
                    .report(self.problem(ProblemKind::Slow, look, text));
            } else {
                next = next.min(settings.watchdog - worked);
            }
        }
        Verdict::Later(next.min(Duration::from_secs(60)))
    }

    fn problem(&self, kind: ProblemKind, look: &Look, text: String) -> Problem {
        let message = look
            .message
            .map(|it| self.stage.message_id(it.port, it.sequence, it.frame));
        self.stage.problem(kind, self.contestant, message, text)
    }
}

fn condemn(reason: Reason, worked: Duration, timeout: Option<Duration>) -> String {
    let why = match (reason, timeout) {
        (Reason::Timeout, Some(timeout)) => format!("its {timeout:?} were over"),
        (Reason::Timeout, None) => "its time was over".to_owned(),
        (Reason::Lost, _) => "another plugin had answered".to_owned(),
        (Reason::Stop, _) => "the run was ending".to_owned(),
    };
    format!("it hangs: after {worked:.1?} it has not noticed that {why}")
}

fn nanoseconds(time: i64) -> Duration {
    Duration::from_nanos(u64::try_from(time).unwrap_or(0))
}
