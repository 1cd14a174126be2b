//! The control thread: makes the stages, watches over them while they run, ends them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};

use crate::plugin::instance::Instance;
use crate::problem::{Problem, ProblemKind};
use crate::report::Report;
use crate::run::StartError;
use crate::run::anew::Next;
use crate::run::crew::{self, Hand, Left, Notes};
use crate::run::driver::News;
use crate::run::journal;
use crate::run::plan::Plan;
use crate::run::remake::Due;
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
        left: Left,
        /// It panicked, which is a fault of this program.
        panicked: bool,
    },
    /// A plugin was made anew, or could not be.
    Made {
        due: Due,
        made: Box<Result<Instance, StartError>>,
    },
    /// The one before is gone: this one can be made in its place.
    Gone(Due),
    /// Stages are to pause, so that they can be changed.
    Pause(pausing::Request),
    /// They go on, as they are told here.
    Resume(pausing::Resume),
}

/// The control thread's own.
pub(crate) struct Control {
    pub plan: Plan,
    pub hands: Vec<Hand>,
    /// Instances whose threads have ended.
    pub ended: Vec<Instance>,
    /// Instances of no more use, which are destroyed as soon as that can be.
    pub leaving: Vec<Instance>,
    /// Plugins that are to be made anew.
    pub due: Vec<Due>,
    /// Stages of which a plugin is being made.
    pub making: Vec<usize>,
    /// Threads that do what this one must not wait for.
    pub helpers: Vec<JoinHandle<()>>,
    /// Stages that pause, or are about to.
    pub pausing: Option<Pausing>,
    scene: Scene,
}

/// When the run is aborted, plugins get at most this long to notice.
pub(crate) const ABORT_GRACE: Duration = Duration::from_secs(1);

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
            leaving: Vec::new(),
            due: Vec::new(),
            making: Vec::new(),
            helpers: Vec::new(),
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
        loop {
            let next = self.destroy_those_that_leave().min(self.make_what_is_due());
            let is_over = self.due.is_empty() && self.making.is_empty() && self.pausing.is_none();
            if is_over && self.hands.iter().all(|hand| hand.thread.is_none()) {
                return;
            }
            let sleep = self.look().min(self.go_on_pausing()).min(next);
            let sleep = sleep.max(SHORTEST);
            match self.plan.events.recv_timeout(sleep) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let (id, mut left, panicked) = match event {
            Event::Ended { id, left, panicked } => (id, left, panicked),
            Event::Made { due, made } => return self.put_in_place(due, Some(*made)),
            Event::Gone(due) => return self.make_in_its_place(due),
            Event::Pause(request) => return self.begin_to_pause(request),
            Event::Resume(resume) => return self.resume(resume),
            Event::Nudge => return,
        };
        let Some(hand) = self.hands.get_mut(id) else {
            self.ended.extend(left.instances);
            return;
        };
        // Taken now: a plugin that is made anew at once gets this place, and its thread goes on.
        let thread = hand.thread.take();
        hand.is_free = true;
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        if left.anew.is_none()
            && let Some(pausing) = &mut self.pausing
        {
            let instances = std::mem::take(&mut left.instances).into_iter();
            let instances = instances.map(|instance| (contestant, instance)).collect();
            let left = pausing.note_ended(stage.index, instances, left.paused);
            self.keep(&stage, left);
        }
        self.take_back(id, left);
        let Some(thread) = thread else {
            return;
        };
        if panicked {
            let text = "its thread panicked, which is a fault of flowpipe itself".to_owned();
            let problem = stage.problem(ProblemKind::Failed, contestant, None, text);
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
            // Work that begins a moment from now has its own time.
            let settings = &hand.stage.settings;
            let soonest = settings
                .timeout
                .map_or(settings.watchdog, |it| it.min(settings.watchdog));
            sleep = sleep.min(soonest);
            let Some(look) = watch.look(now) else {
                continue;
            };
            match hand.judge(&watch, &look) {
                Verdict::Later(time) => sleep = sleep.min(time),
                Verdict::Hangs(why) => {
                    let busy = hand.lifelines.iter().find(|process| process.is_busy());
                    match busy {
                        // Its thread comes back by itself then.
                        Some(process) => process.kill(&why),
                        None if hand.lifelines.is_empty() => {
                            self.give_up(id, &watch, &look, &why);
                        }
                        None => {}
                    }
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
        let next = || {
            let few = stage.counts.given_up.load(Ordering::Relaxed) < MOST_GIVEN_UP;
            match (!stage.must_end() && few).then(|| stage.after_failure(hand.contestant, false)) {
                Some(Next::Anew(after)) => Some(after),
                _ => None,
            }
        };
        let anew;
        if hand.driver.is_some() {
            // The ports are the driver's, which goes on without this contestant.
            if !watch.give_up(look.call) {
                return;
            }
            anew = next();
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
            anew = next();
            let taken = match anew {
                Some(_) => Ports::default(),
                None => std::mem::take(&mut *ports),
            };
            // In this order: what is still queued is freed outside the lock.
            drop(ports);
            drop(taken);
            if anew.is_none() {
                stage.over.store(true, Ordering::SeqCst);
            }
        }
        self.replace(id, look, why, anew);
    }

    /// Tells of a worker that was given up, and puts another in its place.
    fn replace(&mut self, id: usize, look: &Look, why: &str, anew: Option<Duration>) {
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
        if driver.is_none()
            && anew.is_none()
            && look.cancelled != Some(Reason::Stop)
            && !stage.must_end()
        {
            self.plan.shared.fail(problem);
        } else {
            self.plan.shared.report(problem);
        }
        // Who is replaced at once is there before the driver looks for who is free.
        let at_once =
            anew == Some(Duration::ZERO) && !stage.gate.is_closed() && self.can_call_plugins();
        if let Some(driver) = &driver
            && !at_once
        {
            // Gone only when the driver has ended and needs nobody.
            let _ = driver.send(News::GivenUp {
                contestant,
                comes_back: anew.is_some(),
            });
        }
        if let Some(after) = anew {
            self.make_later((stage, contestant, driver), after, None);
        }
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

pub(crate) fn nanoseconds(time: i64) -> Duration {
    Duration::from_nanos(u64::try_from(time).unwrap_or(0))
}
