//! Performs the actions that the supervisor returns.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_config::pipeline::Isolation;
use flowpipe_host::instance::Instance;
use flowpipe_host::problem::ProblemKind;

use crate::edge::gate::Gate;
use crate::run::control::Control;
use crate::run::create::create;
use crate::run::driver::RaceEvent;
use crate::run::error::StartError;
use crate::run::event::ControlEvent;
use crate::run::reload::pausing::{
    PauseRefused, PausedStage, PausedStages, Request, Resume, ResumedStage,
};
use crate::run::stage::Stage;
use crate::run::threads;
use crate::supervisor::{self, Action, Answer, Exit, Slot, WorkerId};

impl Control {
    /// Performs one action. Returns the resulting event, if it is known at once.
    pub(crate) fn perform(&mut self, action: Action) -> Option<supervisor::Event> {
        match action {
            // Whoever reports the event performs these: a worker, the driver of a race, or the observer of calls.
            Action::Decide(_)
            | Action::Race { .. }
            | Action::AwaitContestant
            | Action::EndRace { .. }
            | Action::Cancel { .. }
            | Action::Warn { .. }
            | Action::Kill { .. }
            | Action::Abandon { .. }
            | Action::ObserveAgain { .. } => {}
            Action::SetMode(mode) => self.plan.shared.set_mode(mode),
            Action::Create(slot) => return self.create(slot),
            Action::Start { slot, is_restart } => return self.start_thread(slot, is_restart),
            Action::StartRace { race, present } => return self.start_race(race, &present),
            Action::StartReplay { stage, restarted } => {
                return self.start_replay(stage, restarted);
            }
            Action::Destroy(slot) => self.instances.destroy(slot),
            Action::Close { stage } => self.close(stage),
            Action::NotifyRace(slot) => {
                if let Some(race) = self.races.get(&slot.worker_id()) {
                    let contestant = slot.contestant;
                    // Disconnected only when the race has ended.
                    let _ = race.send(RaceEvent::Missing { contestant });
                }
            }
            Action::CloseGate { stage } => {
                self.plan.stages[stage].gates.iter().for_each(Gate::close);
            }
            Action::OpenGate { stage } => {
                self.plan.stages[stage].gates.iter().for_each(Gate::open);
            }
            Action::ReopenGate { stage } => {
                let it = &self.plan.stages[stage];
                let is_pausing =
                    |gate: &Gate| !gate.open_again() && !it.over.load(Ordering::SeqCst);
                let gates = it.gates.iter().enumerate();
                let pausing = gates.filter(|(_, gate)| is_pausing(gate));
                let pausing = pausing.map(|(worker, _)| worker).collect();
                return Some(supervisor::Event::Reopened { stage, pausing });
            }
            Action::Answer(answer) => self.answer(answer),
            Action::Report(problem) => self.plan.shared.report(problem),
            Action::Fail(problem) => self.plan.shared.fail(problem),
        }
        None
    }

    fn create(&mut self, slot: Slot) -> Option<supervisor::Event> {
        let stage = self.plan.stages[slot.stage].clone();
        let found = self.plan.found.get(slot.stage);
        let Some(found) = found.and_then(|it| it.get(slot.contestant)).cloned() else {
            let missing = StartError::UnknownPlugin {
                stage: stage.settings.name.clone(),
                plugin: stage.plugin(slot.contestant).to_owned(),
            };
            return self.created(slot, Err(missing));
        };
        if stage.settings.isolation == Isolation::Process {
            // Starting a process is slow.
            self.instances.help("flowpipe-create", move || {
                let create = || create(&stage, slot, &found);
                // Also after a panic: the control thread needs the event.
                let created = std::panic::catch_unwind(std::panic::AssertUnwindSafe(create));
                let created = created.unwrap_or(Err(StartError::Panicked));
                // The control thread waits for it.
                let _ = stage
                    .run
                    .events
                    .send(ControlEvent::Created(slot, Box::new(created)));
            });
            return None;
        }
        let shared = self.plan.shared.clone();
        let calls = match self.instances.some_leave() {
            true => None,
            false => shared.try_control_calls(),
        };
        let Some(_calls) = calls else {
            return Some(supervisor::Event::Deferred(slot));
        };
        let created = create(&stage, slot, &found);
        self.created(slot, created)
    }

    /// Handles that a plugin with a process of its own was created, or failed to start.
    pub(crate) fn note_created(&mut self, slot: Slot, created: Result<Instance, StartError>) {
        if let Some(event) = self.created(slot, created) {
            self.apply(event);
        }
    }

    fn created(
        &mut self,
        slot: Slot,
        created: Result<Instance, StartError>,
    ) -> Option<supervisor::Event> {
        Some(match created {
            Ok(instance) => {
                self.instances.put(slot, instance);
                supervisor::Event::Created(slot)
            }
            Err(error) => {
                let stage = &self.plan.stages[slot.stage];
                let text = error.to_string();
                let problem =
                    stage.problem(ProblemKind::RestartFailed, slot.contestant, None, text);
                supervisor::Event::CreateFailed(slot, problem)
            }
        })
    }

    fn start_thread(&mut self, slot: Slot, is_restart: bool) -> Option<supervisor::Event> {
        let stage = self.plan.stages[slot.stage].clone();
        let instance = self.instances.take(slot)?;
        let race = self.races.get(&slot.worker_id());
        let race = race.filter(|_| stage.races());
        let started = self.threads.add(|id| match race {
            None => threads::start_worker(&stage, slot, instance, id),
            Some(race) => threads::start_contestant(&stage, slot, instance, id, race),
        });
        match started {
            Ok(()) => {
                if is_restart {
                    note_restart(&stage, slot.contestant);
                }
                None
            }
            Err(error) => {
                self.fail_to_start(&stage, error);
                Some(supervisor::Event::Ended(slot, Exit::Panicked))
            }
        }
    }

    fn start_race(&mut self, race: WorkerId, present: &[Slot]) -> Option<supervisor::Event> {
        let stage = self.plan.stages[race.stage].clone();
        let take = |slot: &Slot| Some((*slot, self.instances.take(*slot)?));
        let instances = present.iter().filter_map(take).collect();
        match threads::start_race(&stage, race, instances, &mut self.threads) {
            Ok(sender) => {
                self.races.insert(race, sender);
                None
            }
            Err(error) => {
                self.fail_to_start(&stage, error);
                let present = present.iter().copied();
                // The threads that have started end at once: they have no driver.
                let missing = present.filter(|it| !self.threads.calls(&stage, *it));
                Some(supervisor::Event::ThreadsFailed {
                    race,
                    missing: missing.collect(),
                })
            }
        }
    }

    fn start_replay(
        &mut self,
        stage: usize,
        restarted: Option<Vec<bool>>,
    ) -> Option<supervisor::Event> {
        let stage = self.plan.stages[stage].clone();
        let replay = stage.run.replay.clone()?;
        let slots: Vec<_> = stage.slots(stage.settings.contestants.len()).collect();
        let taken = slots.iter().filter_map(|it| self.instances.take(*it));
        let instances: Vec<_> = taken.collect();
        if instances.is_empty() {
            return None;
        }
        let which = restarted.as_ref();
        let which = which.map(|it| it.iter().position(|it| *it).unwrap_or(0));
        let new = restarted.unwrap_or_else(|| {
            let reads_times = replay.reads_creation_times(stage.index);
            vec![reads_times; instances.len()]
        });
        let started = self
            .threads
            .add(|id| threads::start_replay_worker(&stage, instances, id, (&replay, new)));
        match started {
            Ok(()) => {
                if let Some(slot) = which.and_then(|which| slots.get(which)) {
                    note_restart(&stage, slot.contestant);
                }
                None
            }
            Err(error) => {
                self.fail_to_start(&stage, error);
                Some(supervisor::Event::ThreadsFailed {
                    race: stage.worker_id(0),
                    missing: slots,
                })
            }
        }
    }

    /// Handles that a thread failed to start: the run ends, or does not start.
    fn fail_to_start(&mut self, stage: &Arc<Stage>, error: StartError) {
        if stage.order.is_none() || self.plan.shared.replay.is_some() {
            stage.close();
        }
        let problem = stage.problem(ProblemKind::RestartFailed, 0, None, error.to_string());
        self.plan.shared.fail(problem);
        self.failed_start.get_or_insert(error);
    }

    fn close(&self, stage: usize) {
        self.plan.stages[stage].close();
        if let Some(replay) = &self.plan.shared.replay {
            replay.end(stage);
        }
    }

    /// Starts to pause stages. There is one change at a time.
    pub(crate) fn pause(&mut self, request: Request) {
        let stages = request.stages.iter().map(|stage| stage.index).collect();
        // Besides its own call, a stage may have to wait for that of the stage behind a full queue.
        let patience = self.threads.patience() * 2;
        self.request = Some(request);
        self.apply(supervisor::Event::Pause { stages, patience });
    }

    fn answer(&mut self, answer: Answer) {
        let Some(request) = &self.request else { return };
        let stage = |index: usize| self.plan.stages[index].clone();
        let answer = match answer {
            Answer::Refused(why) => Err(match why {
                supervisor::Refusal::Busy { stage: index } => PauseRefused::Busy(stage(index)),
                supervisor::Refusal::Ending => PauseRefused::Ending,
            }),
            Answer::Paused { stages } => {
                let mut paused = PausedStages::new();
                for (index, present) in stages {
                    let paused_stage = present.map_or(PausedStage::Over, |present| {
                        let take = |slot| Some((slot, self.instances.take(slot)?));
                        PausedStage::Paused(present.into_iter().filter_map(take).collect())
                    });
                    paused.insert(index, paused_stage);
                }
                Ok(paused)
            }
        };
        let is_refused = answer.is_err();
        // A requester that is gone is detected by the next check.
        let _ = request.answer.send(answer);
        if is_refused {
            self.request = None;
        }
    }

    /// Resumes paused stages, and starts new ones.
    pub(crate) fn resume(&mut self, resume: Resume) {
        self.request = None;
        let paused = resume.stages.into_iter();
        let resumed = paused.map(|it| self.take_back(it)).collect();
        self.apply(supervisor::Event::Resumed(resumed));
        let _ = resume.done.send(());
    }

    fn take_back(&mut self, resumed: ResumedStage) -> supervisor::Resumed {
        let ResumedStage {
            stage,
            found,
            mut instances,
        } = resumed;
        let index = stage.index;
        if self.plan.found.len() <= index {
            self.plan.found.resize_with(index + 1, Vec::new);
        }
        let settings = match self.plan.stages.get(index) {
            Some(same) if Arc::ptr_eq(same, &stage) => None,
            _ => Some(stage.supervision(found.len())),
        };
        self.plan.found[index] = found;
        match self.plan.stages.get_mut(index) {
            Some(place) => *place = stage.clone(),
            None => self.plan.stages.push(stage.clone()),
        }
        let mut lost = Vec::new();
        for (slot, instance) in instances.extract_if(.., |(_, it)| it.crash().is_some()) {
            if let Some((kind, text)) = instance.crash() {
                let text = format!("{text}, while its state was being transferred");
                let problem = stage.problem(kind, slot.contestant, None, text);
                lost.push((slot, problem));
            }
            // Its process has ended, so this does not block.
            instance.destroy();
        }
        let present = instances.iter().map(|(slot, _)| *slot).collect();
        for (slot, instance) in instances {
            self.instances.put(slot, instance);
        }
        supervisor::Resumed {
            stage: index,
            settings,
            present,
            lost,
        }
    }
}

fn note_restart(stage: &Stage, contestant: usize) {
    stage.counts.restarted.fetch_add(1, Ordering::Relaxed);
    let plugin = stage.plugin(contestant);
    tracing::info!(stage = stage.settings.name, plugin, "restarted");
}
