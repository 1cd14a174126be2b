//! The control thread: makes the stages, watches over them while they run, ends them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};

use crate::pipeline::Isolation;
use crate::plugin::instance::Instance;
use crate::problem::{Problem, ProblemKind};
use crate::report::Report;
use crate::run::StartError;
use crate::run::anew::Next;
use crate::run::crew::{self, Hand, Left, Notes};
use crate::run::driver::News;
use crate::run::journal;
use crate::run::plan::Plan;
use crate::run::shared::Mode;
use crate::run::stage::{Ports, Stage};
use crate::run::summary;
use crate::run::watch::{Look, Reason, Watch};
use crate::sync::lock;

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
}

/// The control thread's own.
pub(crate) struct Control {
    plan: Plan,
    hands: Vec<Hand>,
    /// Instances whose threads have ended.
    ended: Vec<Instance>,
    /// Plugins that are to be made anew.
    due: Vec<Due>,
    /// How many of them are being made.
    making: usize,
    /// Threads that do what this one must not wait for.
    helpers: Vec<JoinHandle<()>>,
}

/// A plugin that is to be made anew.
pub(crate) struct Due {
    /// The thread that ran it.
    id: usize,
    at_ns: i64,
    /// In a replay, where one thread calls all plugins of a stage: all of them, and which one has to be made. `None`:
    /// they were left behind with their thread.
    others: Option<(Vec<Instance>, usize)>,
}

/// When the run is aborted, plugins get at most this long to notice.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// A stage that hangs more often than this is not made anew again: each time leaves a thread behind.
const MOST_GIVEN_UP: u64 = 32;

/// The shortest sleep of the watchdog.
const SHORTEST: Duration = Duration::from_millis(1);

impl Control {
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            plan,
            hands: Vec::new(),
            ended: Vec::new(),
            due: Vec::new(),
            making: 0,
            helpers: Vec::new(),
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
        for instance in self.ended.drain(..) {
            instance.destroy();
        }
        for helper in self.helpers.drain(..) {
            // What it destroys is not of this run any more, also where that panics.
            let _ = helper.join();
        }
        let Plan {
            name,
            shared,
            stages,
            edges,
            ..
        } = self.plan;
        summary::report(name, &shared, &stages, &edges)
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
            let next = self.make_what_is_due();
            let none = self.due.is_empty() && self.making == 0;
            if none && self.hands.iter().all(|hand| hand.thread.is_none()) {
                return;
            }
            let sleep = self.look().min(next).max(SHORTEST);
            match self.plan.events.recv_timeout(sleep) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let (id, left, panicked) = match event {
            Event::Nudge => return,
            Event::Ended { id, left, panicked } => (id, left, panicked),
            Event::Made { due, made } => {
                self.making -= 1;
                return self.put_in_place(due, Some(*made));
            }
        };
        self.take_back(id, left);
        let Some(hand) = self.hands.get_mut(id) else {
            return;
        };
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

    /// Keeps the instances of a thread that has ended, or has one of them made anew.
    fn take_back(&mut self, id: usize, left: Left) {
        let mut instances = left.instances;
        let Some(anew) = left.anew.filter(|anew| anew.instance < instances.len()) else {
            self.ended.extend(instances);
            return;
        };
        let old = instances.remove(anew.instance);
        match old.lifeline() {
            // Its process may take its time, and nothing depends on who waits for it.
            Some(_) => self.help("flowpipe-destroy", move || old.destroy()),
            None => old.destroy(),
        }
        let others = self.plan.shared.replay.is_some();
        self.make_later(id, anew.after, others.then_some((instances, anew.instance)));
    }

    fn make_later(&mut self, id: usize, after: Duration, others: Option<(Vec<Instance>, usize)>) {
        let after = i64::try_from(after.as_nanos()).unwrap_or(i64::MAX);
        let at_ns = self.plan.shared.now().saturating_add(after);
        let due = Due { id, at_ns, others };
        if after == 0 {
            return self.make_anew(due);
        }
        self.due.push(due);
    }

    /// Makes what is due; returns how long nothing is.
    fn make_what_is_due(&mut self) -> Duration {
        let now = self.plan.shared.now();
        // At the end of a run nobody waits.
        let hurries = self.plan.shared.mode() > Mode::Run;
        let (due, later) = std::mem::take(&mut self.due)
            .into_iter()
            .partition(|due| hurries || due.at_ns <= now);
        self.due = later;
        for due in due {
            self.make_anew(due);
        }
        let next = self.due.iter().map(|due| nanoseconds(due.at_ns - now));
        next.min().unwrap_or(Duration::MAX)
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
        if let Some(driver) = &driver {
            // Gone only when the driver has ended and needs nobody.
            let _ = driver.send(News::GivenUp {
                contestant,
                comes_back: anew.is_some(),
            });
        }
        if let Some(after) = anew {
            self.make_later(id, after, None);
        }
    }

    /// Makes a plugin anew and starts its thread.
    fn make_anew(&mut self, due: Due) {
        let hand = &self.hands[due.id];
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        let driver = hand.driver.clone();
        let which = due.others.as_ref().map_or(contestant, |(_, which)| *which);
        let is_needed = match &driver {
            // The driver's thread ends when there is nothing more to race for.
            Some(_) => self.hands.iter().any(|hand| {
                hand.watch.is_none() && hand.thread.is_some() && Arc::ptr_eq(&hand.stage, &stage)
            }),
            None => true,
        };
        if stage.must_end() || !is_needed {
            self.ended
                .extend(due.others.into_iter().flat_map(|it| it.0));
            return self.leave_empty(&stage, contestant, driver.as_ref());
        }
        if stage.settings.isolation == Isolation::Process
            && let Some(found) = self.plan.found.get(stage.index)
            && let Some(found) = found.get(which).cloned()
        {
            // Starting a process takes time too.
            self.making += 1;
            return self.help("flowpipe-create", move || {
                let made = crew::make(&stage, which, &found);
                let made = Event::Made {
                    due,
                    made: Box::new(made),
                };
                // The control thread waits for it.
                let _ = stage.run.events.send(made);
            });
        }
        self.put_in_place(due, None);
    }

    /// Does something on a thread of its own, which ends before the run does.
    fn help(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        self.helpers.retain(|helper| !helper.is_finished());
        let work = Arc::new(Mutex::new(Some(work)));
        let again = work.clone();
        let run = move || {
            let work = lock(&again).take();
            work.into_iter().for_each(|work| work());
        };
        match std::thread::Builder::new().name(name.into()).spawn(run) {
            Ok(helper) => self.helpers.push(helper),
            // Without a thread somebody has to wait.
            Err(_) => {
                let work = lock(&work).take();
                work.into_iter().for_each(|work| work());
            }
        }
    }

    /// Starts the thread of a plugin that is made anew. `made`: the plugin, where it is made already.
    fn put_in_place(&mut self, due: Due, made: Option<Result<Instance, StartError>>) {
        let id = due.id;
        let hand = &self.hands[id];
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        let driver = hand.driver.clone();
        let which = due.others.as_ref().map_or(contestant, |(_, which)| *which);
        match self.start_anew(due, made) {
            Ok(()) => {
                stage.counts.restarted.fetch_add(1, Ordering::Relaxed);
                let plugin = stage.plugin(which);
                tracing::info!(stage = stage.settings.name, plugin, "made anew");
            }
            Err((error, others)) => {
                let text = error.to_string();
                let problem = stage.problem(ProblemKind::Replace, which, None, text);
                if stage.must_end() {
                    self.ended.extend(others.into_iter().flat_map(|it| it.0));
                    return self.leave_empty(&stage, contestant, driver.as_ref());
                }
                if let Some(after) = stage.after_refusal(which) {
                    self.plan.shared.report(problem);
                    return self.make_later(id, after, others);
                }
                self.ended.extend(others.into_iter().flat_map(|it| it.0));
                self.leave_empty(&stage, contestant, driver.as_ref());
                match driver {
                    Some(_) => self.plan.shared.report(problem),
                    None => self.plan.shared.fail(problem),
                }
            }
        }
    }

    /// Nobody takes the place of a plugin that has failed.
    fn leave_empty(&self, stage: &Arc<Stage>, contestant: usize, driver: Option<&Sender<News>>) {
        match driver {
            Some(driver) => {
                // Gone only when the driver has ended and needs nobody.
                let _ = driver.send(News::GivenUp {
                    contestant,
                    comes_back: false,
                });
            }
            None => {
                stage.close();
                if let Some(replay) = &self.plan.shared.replay {
                    replay.end(stage.index);
                }
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "what was not used goes back")]
    fn start_anew(
        &mut self,
        due: Due,
        made: Option<Result<Instance, StartError>>,
    ) -> Result<(), (StartError, Option<(Vec<Instance>, usize)>)> {
        let hand = &self.hands[due.id];
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        let all = self.plan.found.get(stage.index);
        let found = all.map_or(&[][..], |found| found);
        let next = self.hands.len();
        let alone = |error| (error, None);
        let hand = match (&self.plan.shared.replay, due.others) {
            // One thread calls all plugins of the stage.
            (Some(replay), others) => {
                let (instances, new) = match others {
                    Some((mut others, which)) => {
                        let make = || match found.get(which) {
                            Some(found) => crew::make(&stage, which, found),
                            None => Err(StartError::Control),
                        };
                        match made.unwrap_or_else(make) {
                            Ok(instance) => others.insert(which, instance),
                            Err(error) => return Err((error, Some((others, which)))),
                        }
                        let new = (0..others.len()).map(|it| it == which).collect();
                        (others, new)
                    }
                    None => {
                        let make = |(contestant, found)| crew::make(&stage, contestant, found);
                        let made = found.iter().enumerate().map(make);
                        let made = made.collect::<Result<Vec<_>, _>>().map_err(alone)?;
                        let new = vec![false; made.len()];
                        (made, new)
                    }
                };
                crew::start_retracer(&stage, instances, next, (replay, new)).map_err(alone)?
            }
            (None, _) => {
                let make = || match found.get(contestant) {
                    Some(found) => crew::make(&stage, contestant, found),
                    None => Err(StartError::Control),
                };
                let instance = made.unwrap_or_else(make).map_err(alone)?;
                match &self.hands[due.id].driver {
                    None => crew::start_worker(&stage, instance, next),
                    Some(driver) => {
                        crew::start_contestant(&stage, contestant, instance, next, driver)
                    }
                }
                .map_err(alone)?
            }
        };
        self.hands.push(hand);
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
