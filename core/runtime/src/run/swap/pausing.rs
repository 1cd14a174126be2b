//! The control thread's part of a change: stages pause one after the other, and go on.
//!
//! Meanwhile it goes on watching over all. What happens between, handing over state and joining the queues anew, is done by
//! the thread that asked for the change.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use crate::plugin::catalogue::Found;
use crate::plugin::instance::Instance;
use crate::problem::ProblemKind;
use crate::run::anew::Next;
use crate::run::control::{ABORT_GRACE, Control};
use crate::run::crew;
use crate::run::shared::Mode;
use crate::run::stage::Stage;

/// Which stages are to pause.
pub(crate) struct Request {
    /// In this order: whoever may have to wait for another pauses before it.
    pub stages: Vec<Arc<Stage>>,
    /// To whoever asked.
    pub answer: Sender<Result<Crews, Refusal>>,
    /// Alive while whoever asked is.
    pub asker: Weak<()>,
}

/// What became of each stage, by its number.
pub(crate) type Crews = HashMap<usize, Crew>;

/// What became of a stage that was to pause.
pub(crate) enum Crew {
    /// It pauses. Its instances, by contestant; those that were given up are missing.
    Paused(Vec<(usize, Instance)>),
    /// It had ended before.
    Over,
}

/// Why stages do not pause. They go on.
pub(crate) enum Refusal {
    /// This one does not come back from its message.
    Busy(Arc<Stage>),
    /// The run is ending.
    Ending,
}

/// How paused stages go on.
pub(crate) struct Resume {
    pub crews: Vec<Resumed>,
    /// Told when their threads have started.
    pub done: Sender<()>,
}

/// A stage that goes on.
pub(crate) struct Resumed {
    pub stage: Arc<Stage>,
    pub found: Vec<Found>,
    /// By contestant.
    pub instances: Vec<(usize, Instance)>,
}

/// Stages that pause, or are about to.
pub(crate) struct Pausing {
    request: Request,
    to_come: VecDeque<usize>,
    since: Instant,
    /// How long the one that is asked now may take.
    patience: Duration,
    crews: HashMap<usize, Met>,
    answered: bool,
    /// Stages and contestants that were made anew before their time.
    hurried: Vec<(usize, usize)>,
    /// Since when the run is to end at once while whoever asked does not come back.
    aborted: Option<Instant>,
}

/// What was heard of a stage so far.
#[derive(Default)]
struct Met {
    instances: Vec<(usize, Instance)>,
    paused: bool,
}

/// How often the control thread looks whether whoever asked still lives.
const LOOK: Duration = Duration::from_secs(1);

impl Pausing {
    /// Who was made anew before its time. `None`: nobody needs to be any more.
    pub(crate) fn hurried(&mut self) -> Option<&mut Vec<(usize, usize)>> {
        (!self.answered).then_some(&mut self.hurried)
    }

    /// A thread of a stage has ended. Returns the instances that are of no more use.
    pub(crate) fn note_ended(
        &mut self,
        stage: usize,
        instances: Vec<(usize, Instance)>,
        paused: bool,
    ) -> Vec<Instance> {
        let asked = self.request.stages.iter().any(|it| it.index == stage);
        if !asked || self.answered {
            return instances.into_iter().map(|(_, it)| it).collect();
        }
        let met = self.crews.entry(stage).or_default();
        met.instances.extend(instances);
        met.paused |= paused;
        Vec::new()
    }
}

impl Control {
    /// Somebody wants stages to pause. One change at a time is made.
    pub(crate) fn begin_to_pause(&mut self, request: Request) {
        // Besides its own work it may wait for the work of another that its queue leads to.
        let all = self.hands.iter().map(|hand| hand.stage.patience());
        let patience = all.max().unwrap_or_default() * 2;
        self.pausing = Some(Pausing {
            to_come: (0..request.stages.len()).collect(),
            request,
            since: Instant::now(),
            patience,
            crews: HashMap::new(),
            answered: false,
            hurried: Vec::new(),
            aborted: None,
        });
        self.ask_next();
    }

    fn ask_next(&mut self) {
        if let Some(pausing) = &mut self.pausing
            && let Some(stage) = pausing.to_come.front()
        {
            pausing.request.stages[*stage].gate.close();
            pausing.since = Instant::now();
        }
    }

    /// Looks how far the stages are; returns how long nothing can happen.
    pub(crate) fn go_on_pausing(&mut self) -> Duration {
        if self.pausing.is_none() {
            return Duration::MAX;
        }
        loop {
            let Some(pausing) = &mut self.pausing else {
                // What waited for it comes next.
                return Duration::ZERO;
            };
            if pausing.request.asker.strong_count() == 0 {
                self.pausing = None;
                let text = "the thread that changed the pipeline failed, which is a fault of flowpipe itself";
                let stages = self.plan.stages.first();
                if let Some(stage) = stages {
                    let problem = stage.problem(ProblemKind::Failed, 0, None, text.to_owned());
                    self.plan.shared.fail(problem);
                }
                return Duration::ZERO;
            }
            if pausing.answered && self.plan.shared.mode() == Mode::Abort {
                // A plugin that is to hand over its state, or to take it over, may hang.
                let since = pausing.aborted.get_or_insert_with(Instant::now).elapsed();
                match ABORT_GRACE.checked_sub(since) {
                    Some(left) => return left.min(LOOK),
                    None => self.leave_paused(),
                }
                continue;
            }
            if pausing.answered {
                return LOOK;
            }
            if self.plan.shared.mode() > Mode::Run && self.refuse(|| Refusal::Ending) {
                continue;
            }
            let Some(pausing) = &mut self.pausing else {
                continue;
            };
            let Some(&stage) = pausing.to_come.front() else {
                self.answer();
                continue;
            };
            let stage = pausing.request.stages[stage].clone();
            let here = |hand: &crew::Hand| hand.stage.index == stage.index && hand.thread.is_some();
            if self.hands.iter().any(here) || self.making.contains(&stage.index) {
                let left = pausing.patience.checked_sub(pausing.since.elapsed());
                if left.is_none() && self.refuse(|| Refusal::Busy(stage)) {
                    continue;
                }
                return left.unwrap_or(LOOK).min(LOOK);
            }
            pausing.to_come.pop_front();
            // A plugin that was to be made anew has no thread that could say so.
            if self.forget_what_is_due(stage.index)
                && let Some(pausing) = &mut self.pausing
            {
                pausing.crews.entry(stage.index).or_default().paused = true;
            }
            self.ask_next();
        }
    }

    /// The stages that pause end: whoever has their plugins does not come back.
    fn leave_paused(&mut self) {
        let stages = self.pausing.take().map(|it| it.request.stages);
        for stage in stages.iter().flatten() {
            stage.close();
        }
    }

    /// All pause: hands their instances over.
    fn answer(&mut self) {
        let Some(pausing) = &mut self.pausing else {
            return;
        };
        pausing.answered = true;
        let mut crews = Crews::new();
        for stage in &pausing.request.stages {
            let met = pausing.crews.remove(&stage.index).unwrap_or_default();
            let crew = match met.paused {
                true => Crew::Paused(met.instances),
                false => {
                    self.ended
                        .extend(met.instances.into_iter().map(|(_, instance)| instance));
                    Crew::Over
                }
            };
            crews.insert(stage.index, crew);
        }
        // Whoever asked lives, or is missed at the next look.
        let _ = pausing.request.answer.send(Ok(crews));
    }

    /// They do not pause, and go on as they were. False: the one that is asked now pauses already, and is waited for.
    fn refuse(&mut self, why: impl FnOnce() -> Refusal) -> bool {
        let Some(mut pausing) = self.pausing.take() else {
            return true;
        };
        if let Some(&asked) = pausing.to_come.front()
            && !pausing.request.stages[asked].gate.open_again()
            && !pausing.request.stages[asked].over.load(Ordering::SeqCst)
        {
            let index = pausing.request.stages[asked].index;
            let here = |hand: &crew::Hand| hand.stage.index == index && hand.thread.is_some();
            if self.hands.iter().any(here) {
                self.pausing = Some(pausing);
                return false;
            }
        }
        for stage in &pausing.request.stages {
            stage.gate.open();
            let met = pausing.crews.remove(&stage.index).unwrap_or_default();
            if met.paused {
                self.start_again(stage, met.instances);
            } else {
                let rest = met.instances.into_iter().map(|(_, instance)| instance);
                self.ended.extend(rest);
            }
        }
        let _ = pausing.request.answer.send(Err(why()));
        true
    }

    /// Paused stages go on, others begin.
    pub(crate) fn resume(&mut self, resume: Resume) {
        if let Some(pausing) = self.pausing.take() {
            pausing
                .request
                .stages
                .iter()
                .for_each(|stage| stage.gate.open());
        }
        for Resumed {
            stage,
            found,
            instances,
        } in resume.crews
        {
            let index = stage.index;
            if self.plan.found.len() <= index {
                self.plan.found.resize_with(index + 1, Vec::new);
            }
            self.plan.found[index] = found;
            match self.plan.stages.get_mut(index) {
                Some(place) => *place = stage.clone(),
                None => self.plan.stages.push(stage.clone()),
            }
            self.start_again(&stage, instances);
        }
        let _ = resume.done.send(());
    }

    /// Its plugins go on; those that are missing had failed, and are made anew.
    fn start_again(&mut self, stage: &Arc<Stage>, mut instances: Vec<(usize, Instance)>) {
        let contestants = stage.settings.contestants.len();
        let mut waits = vec![Duration::ZERO; contestants];
        for (contestant, lost) in instances.extract_if(.., |(_, it)| it.crash().is_some()) {
            match self.lose(stage, contestant, lost) {
                Some(after) => waits[contestant] = after,
                None if contestants == 1 => return stage.close(),
                None => stage.note_gone(contestant),
            }
        }
        if contestants == 1 && instances.is_empty() {
            return self.make_later((stage.clone(), 0, None), waits[0], None);
        }
        let is_gone = |contestant: &usize| {
            let gone = stage.gone.get(*contestant);
            gone.is_some_and(|gone| gone.load(Ordering::SeqCst))
        };
        let is_there = |contestant: &usize| instances.iter().any(|(there, _)| there == contestant);
        let missing = (0..contestants).filter(|it| !is_there(it) && !is_gone(it));
        let missing: Vec<_> = missing.collect();
        match crew::start_those(stage, instances, &missing, &mut self.hands) {
            Ok(driver) => {
                for contestant in missing {
                    let place = (stage.clone(), contestant, driver.clone());
                    self.make_later(place, waits[contestant], None);
                }
            }
            Err(error) => {
                stage.close();
                let problem = stage.problem(ProblemKind::Replace, 0, None, error.to_string());
                self.plan.shared.fail(problem);
            }
        }
    }

    /// A plugin's process has ended while its state was asked for: tells of it. How soon it is made anew, if it is.
    fn lose(&self, stage: &Stage, contestant: usize, instance: Instance) -> Option<Duration> {
        let (kind, text) = instance.crash()?;
        let text = format!("{text}, while its state was to be handed over");
        let problem = stage.problem(kind, contestant, None, text);
        // There is nothing left of it to wait for.
        instance.destroy();
        let next = stage.after_failure(contestant, false);
        let is_alone = stage.settings.contestants.len() == 1;
        match next {
            Next::End if is_alone => self.plan.shared.fail(problem),
            _ => self.plan.shared.report(problem),
        }
        match next {
            Next::Anew(after) => Some(after),
            Next::GoOn | Next::End => None,
        }
    }
}
