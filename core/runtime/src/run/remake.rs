//! Plugins that are made anew, by the control thread: when it is time, and in the place of the old one.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::pipeline::Isolation;
use crate::plugin::instance::Instance;
use crate::problem::ProblemKind;
use crate::run::StartError;
use crate::run::control::{Control, Event, nanoseconds};
use crate::run::crew::{self, Hand, Left};
use crate::run::destroy::BUSY;
use crate::run::driver::News;
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::swap::pausing::Pausing;
use crate::sync::lock;

/// A plugin that is to be made anew.
pub(crate) struct Due {
    pub stage: Arc<Stage>,
    contestant: usize,
    /// The driver of its race.
    driver: Option<Sender<News>>,
    at_ns: i64,
    /// In a replay, where one thread calls all plugins of a stage: all of them, and which one has to be made. `None`:
    /// they were left behind with their thread.
    others: Option<(Vec<Instance>, usize)>,
}

impl Control {
    /// Keeps the instances of a thread that has ended, or has one of them made anew.
    pub(crate) fn take_back(&mut self, id: usize, left: Left) {
        let mut instances = left.instances;
        let Some(hand) = self.hands.get(id) else {
            self.ended.extend(instances);
            return;
        };
        let (stage, contestant) = (hand.stage.clone(), hand.contestant);
        let driver = hand.driver.clone();
        let Some(anew) = left.anew.filter(|anew| anew.instance < instances.len()) else {
            return self.keep(&stage, instances);
        };
        let old = instances.remove(anew.instance);
        let others = self.plan.shared.replay.is_some();
        let others = others.then_some((instances, anew.instance));
        let due = self.due_after((stage, contestant, driver), anew.after, others);
        if old.lifeline().is_none() {
            self.leaving.push(old);
            return self.make_in_time(due);
        }
        // Its process may take its time, and keeps what the next one may want.
        self.making.push(due.stage.index);
        let events = self.plan.shared.events.clone();
        self.help("flowpipe-destroy", move || {
            // Whatever happens, the control thread must hear of it.
            let destroy = std::panic::AssertUnwindSafe(|| old.destroy());
            let _ = std::panic::catch_unwind(destroy);
            // The control thread waits for it.
            let _ = events.send(Event::Gone(due));
        });
    }

    /// The one before is gone.
    pub(crate) fn make_in_its_place(&mut self, due: Due) {
        self.made(due.stage.index);
        self.make_in_time(due);
    }

    /// Has a plugin made: of which stage, as which contestant, for which driver.
    pub(crate) fn make_later(
        &mut self,
        (stage, contestant, driver): (Arc<Stage>, usize, Option<Sender<News>>),
        after: Duration,
        others: Option<(Vec<Instance>, usize)>,
    ) {
        let due = self.due_after((stage, contestant, driver), after, others);
        self.make_in_time(due);
    }

    fn due_after(
        &self,
        (stage, contestant, driver): (Arc<Stage>, usize, Option<Sender<News>>),
        after: Duration,
        others: Option<(Vec<Instance>, usize)>,
    ) -> Due {
        let at_ns = self.time_after(after);
        Due {
            stage,
            contestant,
            driver,
            at_ns,
            others,
        }
    }

    fn time_after(&self, after: Duration) -> i64 {
        let after = i64::try_from(after.as_nanos()).unwrap_or(i64::MAX);
        self.plan.shared.now().saturating_add(after)
    }

    fn make_in_time(&mut self, due: Due) {
        // A stage that is about to pause does so without it.
        if due.at_ns <= self.plan.shared.now() && !due.stage.gate.is_closed() {
            return self.make_anew(due);
        }
        self.due.push(due);
    }

    /// A plugin of this stage is not being made any more.
    fn made(&mut self, stage: usize) {
        if let Some(making) = self.making.iter().position(|it| *it == stage) {
            self.making.swap_remove(making);
        }
    }

    /// A stage pauses: nothing of it is made anew before it goes on. Whether something was due.
    pub(crate) fn forget_what_is_due(&mut self, stage: usize) -> bool {
        let (forgotten, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.due)
            .into_iter()
            .partition(|due| due.stage.index == stage);
        self.due = kept;
        let was_due = forgotten.iter().any(|due| due.driver.is_none());
        let others = forgotten.into_iter().filter_map(|due| due.others);
        self.ended.extend(others.flat_map(|(others, _)| others));
        was_due
    }

    /// Makes what is due; returns how long nothing is.
    pub(crate) fn make_what_is_due(&mut self) -> Duration {
        let now = self.plan.shared.now();
        // At the end of a run nobody waits.
        let ends = self.plan.shared.mode() > Mode::Run;
        // Whoever is to pause may wait for room in the queue of one that is away: it hurries, once.
        let mut hurried = self.pausing.as_mut().and_then(Pausing::hurried);
        let (mut due, mut later) = (Vec::new(), Vec::new());
        for it in std::mem::take(&mut self.due) {
            let is_over = is_over(&self.hands, &it);
            // A race of which nobody is there has to end before it can pause.
            let races = it.driver.is_some() && !is_over;
            let pauses = it.stage.gate.is_closed() && !races;
            let key = (it.stage.index, it.contestant);
            let mut hurries = || match &mut hurried {
                Some(hurried) if !hurried.contains(&key) => {
                    hurried.push(key);
                    true
                }
                _ => false,
            };
            match !pauses && (ends || is_over || it.at_ns <= now || hurries()) {
                true => due.push(it),
                false => later.push(it),
            }
        }
        self.due = later;
        for due in due {
            self.make_anew(due);
        }
        let waiting = self.due.iter().filter(|due| !due.stage.gate.is_closed());
        let next = waiting.map(|due| nanoseconds(due.at_ns - now));
        next.min().unwrap_or(Duration::MAX)
    }

    /// Makes a plugin anew and starts its thread.
    fn make_anew(&mut self, mut due: Due) {
        let (stage, contestant) = (due.stage.clone(), due.contestant);
        let driver = due.driver.clone();
        let which = due.others.as_ref().map_or(contestant, |(_, which)| *which);
        if stage.must_end() || is_over(&self.hands, &due) {
            self.ended
                .extend(due.others.into_iter().flat_map(|it| it.0));
            return self.leave_empty(&stage, contestant, driver.as_ref());
        }
        if stage.settings.isolation == Isolation::Process
            && let Some(found) = self.plan.found.get(stage.index)
            && let Some(found) = found.get(which).cloned()
        {
            // Starting a process takes time too.
            self.making.push(stage.index);
            return self.help("flowpipe-create", move || {
                let make = || crew::make(&stage, which, &found);
                // Whatever happens, the control thread must hear of it.
                let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
                let made = made.unwrap_or(Err(StartError::Control));
                let made = Event::Made {
                    due,
                    made: Box::new(made),
                };
                // The control thread waits for it.
                let _ = stage.run.events.send(made);
            });
        }
        self.destroy_those_that_leave();
        let shared = self.plan.shared.clone();
        let calls = match self.leaving.is_empty() {
            true => shared.try_control_calls(),
            false => None,
        };
        if calls.is_none() {
            due.at_ns = self.time_after(BUSY);
            self.due.push(due);
            return;
        }
        self.put_in_place(due, None);
    }

    /// Does something on a thread of its own, which ends before the run does.
    pub(crate) fn help(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
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
    pub(crate) fn put_in_place(&mut self, due: Due, made: Option<Result<Instance, StartError>>) {
        let (stage, contestant) = (due.stage.clone(), due.contestant);
        let driver = due.driver.clone();
        if made.is_some() {
            self.made(stage.index);
        }
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
                    return self.make_later((stage, contestant, driver), after, others);
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
        let (stage, contestant) = (due.stage.clone(), due.contestant);
        let all = self.plan.found.get(stage.index);
        let found = all.map_or(&[][..], |found| found);
        let next = crew::place(&self.hands);
        let make = |which: usize| match found.get(which) {
            Some(found) => crew::make(&stage, which, found),
            None => Err(StartError::Control),
        };
        let alone = |error| (error, None);
        let hand = match (&self.plan.shared.replay, due.others) {
            // One thread calls all plugins of the stage.
            (Some(replay), others) => {
                let (instances, new) = match others {
                    Some((mut others, which)) => {
                        match made.unwrap_or_else(|| make(which)) {
                            Ok(instance) => others.insert(which, instance),
                            Err(error) => return Err((error, Some((others, which)))),
                        }
                        let new = (0..others.len()).map(|it| it == which).collect();
                        (others, new)
                    }
                    None => {
                        let made = (0..found.len()).map(make);
                        let made = made.collect::<Result<Vec<_>, _>>().map_err(alone)?;
                        let new = vec![false; made.len()];
                        (made, new)
                    }
                };
                crew::start_retracer(&stage, instances, next, (replay, new)).map_err(alone)?
            }
            (None, _) => {
                let instance = made.unwrap_or_else(|| make(contestant)).map_err(alone)?;
                match &due.driver {
                    None => crew::start_worker(&stage, instance, next),
                    Some(driver) => {
                        crew::start_contestant(&stage, contestant, instance, next, driver)
                    }
                }
                .map_err(alone)?
            }
        };
        crew::seat(&mut self.hands, next, hand);
        Ok(())
    }
}

/// Whether the race of a plugin is over, so that it is not needed: its driver's thread has ended.
fn is_over(hands: &[Hand], due: &Due) -> bool {
    let drives = |hand: &Hand| {
        hand.watch.is_none() && hand.thread.is_some() && Arc::ptr_eq(&hand.stage, &due.stage)
    };
    due.driver.is_some() && !hands.iter().any(drives)
}
