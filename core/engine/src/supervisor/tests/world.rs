//! The executor of the tests. It has no threads, and tracks where each instance and each message is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use flowpipe_config::pipeline::OnStop;
use flowpipe_host::run::Mode;

use super::super::event::SlotState;
use super::super::policy::LONGEST_BACKOFF;
use super::super::transitions::Transition;
use super::super::{
    Action, Answer, Decision, Event, Exit, Resumed, Settings, Slot, StopCause, Supervisor,
    ThreadModel, WorkerId,
};
use super::messages::{Messages, Taker};
use super::race::{Note, RaceModel};
use super::{Setup, problem};

/// Where an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The control thread keeps it.
    Kept,
    /// It has a thread.
    Thread,
    /// It is being destroyed.
    Leaving,
    /// The requester of the pause owns it.
    Lent,
}

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) supervisor: Supervisor,
    pub(super) now: i64,
    pub(super) mode: Mode,
    /// Settings that a change gives to stages.
    pub(super) others: Vec<Settings>,
    /// The instance of each slot that has one.
    pub(super) instances: BTreeMap<Slot, Place>,
    /// Slots whose instance is being created.
    pub(super) creating: BTreeSet<Slot>,
    pub(super) races: BTreeMap<WorkerId, RaceModel>,
    pub(super) messages: Messages,
    pub(super) gated: BTreeSet<usize>,
    /// Workers whose thread has reached the closed gate.
    pub(super) paused: BTreeSet<WorkerId>,
    /// Stages that were closed.
    closed: BTreeSet<usize>,
    /// Whether a request awaits its answer.
    pub(super) asked: bool,
    pub(super) lent: Option<Vec<(usize, Option<Vec<Slot>>)>>,
    pub(super) created: usize,
    pub(super) destroyed: usize,
    pub(super) abandoned: usize,
    pub(super) over: bool,
    /// The next start of threads fails, after this many of them have started.
    pub(super) failing_start: Option<usize>,
    /// The transitions that have occurred.
    pub(super) transitions: BTreeSet<Transition>,
}

impl World {
    pub(super) fn start(setup: &Setup) -> Self {
        let mut world = Self {
            others: setup.others.clone(),
            ..Self::default()
        };
        let on_stop = match setup.drops {
            true => OnStop::Drop,
            false => OnStop::Drain,
        };
        world.handle(Event::OnStop(on_stop));
        let stages = setup.stages.iter().enumerate();
        let resumed = stages.map(|(stage, settings)| world.add(stage, *settings));
        let resumed = resumed.collect();
        world.handle(Event::Resumed(resumed));
        world
    }

    /// Creates the instances of a new stage.
    pub(super) fn add(&mut self, stage: usize, settings: Settings) -> Resumed {
        let present = slots(stage, &settings);
        for &slot in &present {
            assert_eq!(self.instances.insert(slot, Place::Kept), None);
            self.created += 1;
        }
        Resumed {
            stage,
            settings: Some(settings),
            present,
            lost: Vec::new(),
        }
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = Slot> + '_ {
        let threads = self.instances.iter();
        threads
            .filter(|(_, place)| **place == Place::Thread)
            .map(|(slot, _)| *slot)
    }

    pub(super) fn model(&self, stage: usize) -> ThreadModel {
        self.supervisor.slots.stages[stage].settings.threads
    }

    /// Reports an event, and performs the actions, as the control thread does.
    pub(super) fn handle(&mut self, event: Event) {
        self.apply(event);
        self.check();
    }

    /// At the end of a run, each stage with several workers was closed after the last one. The thread of an only worker
    /// closes its stage, and a change of the pipeline closes a removed one.
    pub(super) fn assert_all_closed(&self) {
        let stages = self.supervisor.slots.stages.iter().enumerate();
        for (index, stage) in stages.filter(|(_, it)| it.settings.workers > 1) {
            let closes = stage.settings.threads != ThreadModel::Replay && !stage.is_removed;
            assert!(
                !closes || self.closed.contains(&index),
                "stage {index} is not closed: {stage:#?}"
            );
        }
    }

    fn apply(&mut self, event: Event) {
        if let Event::Resumed(stages) = &event {
            for resumed in stages {
                self.closed.remove(&resumed.stage);
            }
        }
        let mut actions = VecDeque::from(self.report(event));
        while let Some(action) = actions.pop_front() {
            if let Some(event) = self.perform(action) {
                actions.extend(self.report(event));
            }
        }
    }

    /// Reports an event. Notes the transitions.
    pub(super) fn report(&mut self, event: Event) -> Vec<Action> {
        let actions = self.supervisor.handle(event, self.now);
        // An action that was decided earlier may still create one: the mode changes while actions are performed.
        let creates = actions.iter().any(|it| matches!(it, Action::Create(_)));
        assert!(
            !creates || self.supervisor.slots.end.mode < Mode::Drop,
            "nothing is to be created at the end of a run"
        );
        self.transitions.append(&mut self.supervisor.slots.log);
        actions
    }

    fn perform(&mut self, action: Action) -> Option<Event> {
        assert!(
            !self.over || matches!(action, Action::Destroy(_)),
            "after the end: {action:?}"
        );
        if let Some(event) = self.fail_to_start(&action) {
            return Some(event);
        }
        match action {
            Action::Report(_) => {}
            Action::SetMode(mode) => self.set_mode(mode),
            Action::Fail(_) => self.fail_run(),
            Action::Create(slot) => {
                assert!(
                    !self.instances.contains_key(&slot),
                    "{slot:?} has an instance"
                );
                assert!(self.creating.insert(slot), "{slot:?} is being created");
            }
            Action::Start { slot, .. } => {
                self.start_thread(slot);
                let id = slot.worker_id();
                match self.model(slot.stage) {
                    ThreadModel::Race => self.notify(id, Note::Joined(slot.contestant)),
                    _ => self.messages.add_taker(id, Taker::Plugin(slot)),
                }
            }
            Action::StartRace { race, present } => {
                self.messages.add_taker(race, Taker::Race);
                let model = RaceModel::new(&present);
                assert!(
                    self.races.insert(race, model).is_none(),
                    "one race per worker"
                );
                for slot in present {
                    assert_eq!(slot.worker_id(), race);
                    self.start_thread(slot);
                }
            }
            Action::StartReplay { stage, .. } => {
                let id = WorkerId { stage, worker: 0 };
                self.messages.add_taker(id, Taker::Replay);
                let settings = self.supervisor.slots.stages[stage].settings;
                for slot in slots(stage, &settings) {
                    self.start_thread(slot);
                }
            }
            Action::Destroy(slot) => {
                let place = self.instances.insert(slot, Place::Leaving);
                assert_eq!(place, Some(Place::Kept), "{slot:?}");
            }
            Action::Close { stage } => {
                // The requester of a pause is gone: its stages end even while a worker of them runs.
                let is_lost = self.gated.contains(&stage);
                assert!(
                    is_lost || !self.messages.has_taker(stage),
                    "stage {stage} is closed while a worker takes messages"
                );
                self.closed.insert(stage);
            }
            Action::NotifyRace(slot) => {
                self.notify(slot.worker_id(), Note::Missing(slot.contestant));
            }
            Action::CloseGate { stage } => {
                self.gated.insert(stage);
            }
            Action::OpenGate { stage } => {
                self.gated.remove(&stage);
                self.paused.retain(|it| it.stage != stage);
            }
            Action::ReopenGate { stage } => {
                let paused = self.paused.iter().filter(|it| it.stage == stage);
                let pausing: Vec<_> = paused.map(|it| it.worker).collect();
                self.gated.remove(&stage);
                return Some(Event::Reopened { stage, pausing });
            }
            Action::Answer(answer) => self.answer(answer),
            Action::Decide(_)
            | Action::Race { .. }
            | Action::AwaitContestant
            | Action::EndRace { .. }
            | Action::Cancel { .. }
            | Action::Warn { .. }
            | Action::Kill { .. }
            | Action::Abandon { .. }
            | Action::ObserveAgain { .. } => panic!("not for the control thread: {action:?}"),
        }
        None
    }

    pub(super) fn fail_run(&mut self) {
        for action in self.report(Event::Stop(StopCause::Failure)) {
            match action {
                Action::SetMode(mode) => self.set_mode(mode),
                other => panic!("{other:?}"),
            }
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        assert!(self.mode < mode, "the mode never goes back");
        self.mode = mode;
    }

    pub(super) fn start_thread(&mut self, slot: Slot) {
        let place = self.instances.insert(slot, Place::Thread);
        assert_eq!(place, Some(Place::Kept), "{slot:?}");
    }

    /// The message of a worker is processed.
    pub(super) fn succeed(&mut self, id: WorkerId) {
        let next = id.stage + 1;
        let has_next = next < self.supervisor.slots.stages.len();
        self.messages.succeed(id, has_next.then_some(next));
    }

    fn answer(&mut self, answer: Answer) {
        assert!(std::mem::take(&mut self.asked), "there was no request");
        let Answer::Paused { stages } = answer else {
            return;
        };
        for (stage, present) in &stages {
            if present.is_some() {
                let id = WorkerId {
                    stage: *stage,
                    worker: 0,
                };
                self.messages.add_taker(id, Taker::Requester);
            }
            for &slot in present.iter().flatten() {
                let place = self.instances.insert(slot, Place::Lent);
                assert_eq!(place, Some(Place::Kept), "{slot:?}");
            }
        }
        self.lent = Some(stages);
    }

    /// Checks that the supervisor's states match the tracked instances.
    pub(super) fn check(&self) {
        for (index, stage) in self.supervisor.slots.stages.iter().enumerate() {
            for (slot, it) in stage.all(index) {
                let place = self.instances.get(&slot).copied();
                let fits = match it.state {
                    SlotState::Creating => place.is_none() && self.creating.contains(&slot),
                    SlotState::Running(_) => place == Some(Place::Thread),
                    SlotState::Backoff { until } => {
                        assert!(until - self.now <= LONGEST_BACKOFF.as_nanos() as i64);
                        place.is_none()
                    }
                    SlotState::Paused { is_there: true } => {
                        matches!(place, Some(Place::Kept | Place::Lent))
                    }
                    SlotState::Paused { is_there: false } | SlotState::Abandoned => place.is_none(),
                    SlotState::Destroying { .. } => place == Some(Place::Leaving),
                    SlotState::Finished => place == Some(Place::Kept),
                    SlotState::Gone => matches!(place, None | Some(Place::Lent)),
                };
                assert!(fits, "{slot:?}: {:?}, {place:?}", it.state);
            }
        }
        self.messages.check();
        let here = self.instances.len();
        assert_eq!(self.created, here + self.destroyed + self.abandoned);
    }

    /// The threads of slots end, with one exit each.
    pub(super) fn end(&mut self, ends: &[(Slot, Exit)]) {
        for &(slot, exit) in ends {
            match exit {
                Exit::Panicked => self.abandon(slot),
                _ => {
                    self.instances.insert(slot, Place::Kept);
                }
            }
        }
        for &(slot, exit) in ends {
            self.apply(Event::Ended(slot, exit));
        }
        self.check();
    }

    pub(super) fn abandon(&mut self, slot: Slot) {
        self.instances.remove(&slot);
        self.abandoned += 1;
    }

    /// The requester does not own the queues of paused stages any more. Returns the stages.
    pub(super) fn take_lent(&mut self) -> Option<Vec<(usize, Option<Vec<Slot>>)>> {
        let lent = self.lent.take()?;
        for &(stage, _) in lent.iter().filter(|(_, present)| present.is_some()) {
            let id = WorkerId { stage, worker: 0 };
            self.messages.remove_taker(id, Taker::Requester);
        }
        Some(lent)
    }

    /// The requester leaks its instances.
    pub(super) fn forget_lent(&mut self) {
        self.take_lent();
        let before = self.instances.len();
        self.instances.retain(|_, place| *place != Place::Lent);
        self.abandoned += before - self.instances.len();
    }

    /// Whether a pause may be requested. A replay is never changed.
    pub(super) fn may_pause(&self) -> bool {
        let is_replay = self.model(0) == ThreadModel::Replay;
        !is_replay && !self.asked && self.lent.is_none() && self.mode == Mode::Run
    }

    /// Whether a failed plugin continues, is restarted, or ends.
    pub(super) fn fail(&mut self, slot: Slot, is_alive: bool) -> Decision {
        let actions = self.report(Event::Failed { slot, is_alive });
        let [Action::Decide(decision)] = actions[..] else {
            panic!("{actions:?}");
        };
        if let Decision::Restart(after) = decision {
            assert!(after <= LONGEST_BACKOFF);
        }
        assert!(decision != Decision::Continue || is_alive);
        decision
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += i64::try_from(time.as_nanos()).unwrap();
        self.handle(Event::Tick);
        if self.lent.is_some() && self.supervisor.pause.is_none() {
            self.forget_lent();
        }
    }
}

/// All slots of a stage with these settings.
pub(super) fn slots(stage: usize, settings: &Settings) -> Vec<Slot> {
    let workers = (0..settings.workers).map(|worker| WorkerId { stage, worker });
    let contestants = settings.contestants;
    workers
        .flat_map(|id| (0..contestants).map(move |contestant| id.slot(contestant)))
        .collect()
}

pub(super) fn lost(slots: Vec<Slot>) -> Vec<(Slot, flowpipe_host::problem::Problem)> {
    slots.into_iter().map(|it| (it, problem())).collect()
}
