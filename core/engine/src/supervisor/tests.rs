//! The state machine under random events. The executor of these tests has no threads. It tracks where each instance is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use flowpipe_config::pipeline::{self, OnError, Restart};
use flowpipe_host::problem::ProblemKind;
use proptest::prelude::*;

use super::policy::LONGEST_BACKOFF;
use super::*;

/// A step of a test. The numbers choose among the possible slots or stages.
#[derive(Clone, Debug)]
enum Step {
    /// A call of a plugin fails.
    Fail(usize, bool),
    /// It succeeds.
    Succeed(usize),
    /// It hangs.
    Hang(usize, bool),
    /// A thread ends with its stream.
    Finish(usize),
    /// It panics.
    Panic(usize),
    /// A thread whose gate is closed pauses.
    Pause(usize),
    /// A creation and a destruction complete.
    Settle(usize, bool),
    /// A change of the pipeline requests a pause.
    Ask(Vec<usize>),
    /// The change completes, and the stages resume.
    Resume(Vec<bool>),
    /// The requester panics.
    Vanish,
    /// A stage is removed.
    Remove(usize),
    /// The run is ending.
    Mode(u8),
    /// Time passes.
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0_usize..64;
    prop_oneof![
        4 => (which.clone(), any::<bool>()).prop_map(|(it, alive)| Step::Fail(it, alive)),
        2 => which.clone().prop_map(Step::Succeed),
        2 => (which.clone(), any::<bool>()).prop_map(|(it, can)| Step::Hang(it, can)),
        1 => which.clone().prop_map(Step::Finish),
        1 => which.clone().prop_map(Step::Panic),
        6 => which.clone().prop_map(Step::Pause),
        6 => (which.clone(), any::<bool>()).prop_map(|(it, good)| Step::Settle(it, good)),
        2 => prop::collection::vec(0_usize..4, 1..4).prop_map(Step::Ask),
        2 => prop::collection::vec(any::<bool>(), 8).prop_map(Step::Resume),
        1 => Just(Step::Vanish),
        1 => which.prop_map(Step::Remove),
        1 => (1_u8..4).prop_map(Step::Mode),
        6 => any::<u16>().prop_map(Step::Wait),
    ]
}

fn stages() -> impl Strategy<Value = Vec<Settings>> {
    let restart = prop_oneof![
        Just(None),
        (0_u32..4, 0_u64..50).prop_map(|(max, backoff)| Some(Restart {
            max,
            backoff: Duration::from_millis(backoff),
        })),
    ];
    let stage = (
        restart,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1_usize..4,
    );
    let stage = stage.prop_map(|(restart, skips, apart, is_source, contestants)| Settings {
        policy: Policy::new(&pipeline::Stage {
            on_error: match skips {
                true => OnError::Skip,
                false => OnError::Stop,
            },
            restart,
            isolation: match apart {
                true => pipeline::Isolation::Process,
                false => pipeline::Isolation::Thread,
            },
            name: String::new(),
            contestants: Vec::new(),
            timeout: None,
            watchdog: Duration::from_secs(1),
            fresh: false,
        }),
        is_source: is_source && contestants == 1,
        threads: match contestants {
            1 => ThreadModel::One,
            _ => ThreadModel::Race,
        },
        contestants,
        is_removed: false,
    });
    prop::collection::vec(stage, 1..4)
}

/// Where an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
struct World {
    supervisor: Supervisor,
    now: i64,
    mode: Mode,
    /// The instance of each slot that has one.
    instances: BTreeMap<Slot, Place>,
    /// Slots whose instance is being created.
    creating: BTreeSet<Slot>,
    /// Threads of races.
    races: BTreeSet<usize>,
    closed: BTreeSet<usize>,
    gated: BTreeSet<usize>,
    /// Stages whose thread has reached the closed gate.
    paused: BTreeSet<usize>,
    /// Whether a request awaits its answer.
    asked: bool,
    lent: Option<Vec<(usize, Option<Vec<usize>>)>>,
    created: usize,
    destroyed: usize,
    abandoned: usize,
    over: bool,
}

fn problem() -> Problem {
    Problem {
        kind: ProblemKind::Failed,
        stage: String::new(),
        plugin: String::new(),
        message: None,
        text: String::new(),
    }
}

fn choose<T: Copy>(all: impl Iterator<Item = T>, number: usize) -> Option<T> {
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| all[number % all.len()])
}

impl World {
    fn start(stages: &[Settings]) -> Self {
        let mut world = Self::default();
        let mut resumed = Vec::new();
        for (stage, settings) in stages.iter().enumerate() {
            for contestant in 0..settings.contestants {
                world
                    .instances
                    .insert(Slot { stage, contestant }, Place::Kept);
                world.created += 1;
            }
            resumed.push(Resumed {
                stage,
                settings: Some(*settings),
                present: (0..settings.contestants).collect(),
                lost: Vec::new(),
            });
        }
        world.handle(Event::Resumed(resumed));
        world
    }

    fn threads(&self) -> impl Iterator<Item = Slot> + '_ {
        let threads = self.instances.iter();
        threads
            .filter(|(_, place)| **place == Place::Thread)
            .map(|(slot, _)| *slot)
    }

    /// Reports an event, and performs the actions.
    fn handle(&mut self, event: Event) {
        let actions = self.supervisor.handle(event, self.now);
        for action in actions {
            self.perform(action);
        }
        self.check();
    }

    fn perform(&mut self, action: Action) {
        assert!(
            !self.over || matches!(action, Action::Destroy(_)),
            "after the end: {action:?}"
        );
        match action {
            Action::Decide(Decision::Restart(after)) => assert!(after <= LONGEST_BACKOFF),
            Action::Decide(_) | Action::Report(_) | Action::Fail(_) => {}
            Action::Create(slot) => {
                assert!(
                    self.mode < Mode::Drop,
                    "nothing is created at the end of a run"
                );
                assert!(
                    !self.instances.contains_key(&slot),
                    "{slot:?} has an instance"
                );
                assert!(self.creating.insert(slot), "{slot:?} is being created");
            }
            Action::Start { slot, .. } => self.start_thread(slot),
            Action::StartRace {
                stage,
                present,
                missing,
            } => {
                assert!(self.races.insert(stage), "one race a stage");
                for contestant in present {
                    self.start_thread(Slot { stage, contestant });
                }
                for contestant in missing {
                    let slot = Slot { stage, contestant };
                    assert!(!self.instances.contains_key(&slot), "{slot:?} is there");
                }
            }
            Action::StartReplay { .. } => unreachable!("no stage is one of a replay"),
            Action::Destroy(slot) => {
                let place = self.instances.insert(slot, Place::Leaving);
                assert_eq!(place, Some(Place::Kept), "{slot:?}");
            }
            Action::Close { stage } => {
                self.closed.insert(stage);
            }
            Action::NotifyRace { .. } => {}
            Action::CloseGate { stage } => {
                self.gated.insert(stage);
            }
            Action::OpenGate { stage } => {
                self.gated.remove(&stage);
                self.paused.remove(&stage);
            }
            Action::ReopenGate { stage } => {
                let is_open = !self.paused.contains(&stage);
                if is_open {
                    self.gated.remove(&stage);
                }
                self.handle(Event::Reopened { stage, is_open });
            }
            Action::Answer(answer) => {
                assert!(std::mem::take(&mut self.asked), "there was no request");
                if let Answer::Paused { stages } = answer {
                    for (stage, present) in &stages {
                        for &contestant in present.iter().flatten() {
                            let slot = Slot {
                                stage: *stage,
                                contestant,
                            };
                            let place = self.instances.insert(slot, Place::Lent);
                            assert_eq!(place, Some(Place::Kept), "{slot:?}");
                        }
                    }
                    self.lent = Some(stages);
                }
            }
        }
    }

    fn start_thread(&mut self, slot: Slot) {
        let place = self.instances.insert(slot, Place::Thread);
        assert_eq!(place, Some(Place::Kept), "{slot:?}");
    }

    /// Checks that the supervisor's states match the tracked instances.
    fn check(&self) {
        for (index, stage) in self.supervisor.stages.iter().enumerate() {
            for (contestant, it) in stage.slots.iter().enumerate() {
                let slot = Slot {
                    stage: index,
                    contestant,
                };
                let place = self.instances.get(&slot).copied();
                let fits = match it.state {
                    SlotState::Creating => place.is_none() && self.creating.contains(&slot),
                    SlotState::Running | SlotState::Draining => place == Some(Place::Thread),
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
        let here = self.instances.len();
        assert_eq!(self.created, here + self.destroyed + self.abandoned);
    }

    /// The thread of a slot ends.
    fn end(&mut self, slot: Slot, exit: Exit) {
        match exit {
            Exit::Panicked => {
                self.instances.remove(&slot);
                self.abandoned += 1;
            }
            _ => {
                self.instances.insert(slot, Place::Kept);
            }
        }
        self.supervisor_ends(slot, exit);
    }

    fn supervisor_ends(&mut self, slot: Slot, exit: Exit) {
        let actions = self.supervisor.handle(Event::Ended(slot, exit), self.now);
        actions.into_iter().for_each(|action| self.perform(action));
        self.check();
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Fail(number, is_alive) => {
                if let Some(slot) = choose(self.threads(), number) {
                    let event = Event::Failed { slot, is_alive };
                    let actions = self.supervisor.handle(event, self.now);
                    assert_eq!(actions.len(), 1, "{actions:?}");
                    match actions[0] {
                        Action::Decide(Decision::Restart(after)) => {
                            assert!(after <= LONGEST_BACKOFF);
                            self.end(slot, Exit::Restart(after));
                        }
                        Action::Decide(Decision::End) => self.end(slot, Exit::Finished),
                        Action::Decide(Decision::Continue) => assert!(is_alive),
                        ref other => panic!("{other:?}"),
                    }
                }
            }
            Step::Succeed(number) => {
                if let Some(slot) = choose(self.threads(), number) {
                    self.handle(Event::Succeeded(slot));
                }
            }
            Step::Hang(number, can_create) => {
                if let Some(slot) = choose(self.threads(), number) {
                    self.instances.remove(&slot);
                    self.abandoned += 1;
                    self.handle(Event::Hung {
                        slot,
                        was_stopped: number.is_multiple_of(2),
                        is_final: number.is_multiple_of(3),
                        can_create,
                        problem: problem(),
                    });
                }
            }
            Step::Finish(number) => self.finish(number),
            Step::Panic(number) => {
                if let Some(slot) = choose(self.threads(), number) {
                    self.end(slot, Exit::Panicked);
                }
            }
            Step::Pause(number) => self.pause(number),
            Step::Settle(number, good) => self.settle(number, good),
            Step::Ask(ref stages) => {
                let stages: BTreeSet<_> = stages.iter().map(|it| it % self.stages()).collect();
                if !self.asked && self.lent.is_none() && self.mode == Mode::Run {
                    self.asked = true;
                    self.handle(Event::Pause {
                        stages: stages.into_iter().collect(),
                        patience: Duration::from_millis(20),
                    });
                }
            }
            Step::Resume(ref lost) => self.resume(lost),
            Step::Vanish => {
                if self.asked || self.lent.is_some() {
                    self.asked = false;
                    self.forget_lent();
                    self.handle(Event::RequesterGone(Some(problem())));
                }
            }
            Step::Remove(number) => {
                let stage = number % self.stages();
                self.handle(Event::Removed { stage });
            }
            Step::Mode(mode) => {
                let mode = [Mode::Run, Mode::Drain, Mode::Drop, Mode::Abort][usize::from(mode)];
                self.mode = self.mode.max(mode);
                self.handle(Event::Mode(mode));
            }
            Step::Wait(time) => {
                self.now += i64::from(time) * 1_000_000;
                self.handle(Event::Tick);
                if self.lent.is_some() && self.supervisor.pause.is_none() {
                    self.forget_lent();
                }
            }
        }
    }

    fn stages(&self) -> usize {
        self.supervisor.stages.len()
    }

    /// Ends the stream of a stage or of a race.
    fn finish(&mut self, number: usize) {
        let alone = self
            .threads()
            .filter(|slot| !self.races.contains(&slot.stage));
        if let Some(slot) = choose(alone, number) {
            self.end(slot, Exit::Finished);
        } else if let Some(stage) = choose(self.races.iter().copied(), number) {
            self.end_race(stage, false);
        }
    }

    fn end_race(&mut self, stage: usize, to_pause: bool) {
        self.races.remove(&stage);
        self.handle(Event::RaceEnded { stage, to_pause });
        let all: Vec<_> = self.threads().filter(|slot| slot.stage == stage).collect();
        for slot in all {
            if self.instances.get(&slot) == Some(&Place::Thread) {
                self.end(slot, Exit::Finished);
            }
        }
    }

    /// A thread reaches a closed gate.
    fn pause(&mut self, number: usize) {
        if let Some(stage) = choose(self.gated.iter().copied(), number) {
            if self.races.contains(&stage) {
                self.paused.insert(stage);
                return self.end_race(stage, true);
            }
            let thread = self.threads().find(|slot| slot.stage == stage);
            if let Some(slot) = thread {
                self.paused.insert(stage);
                self.end(slot, Exit::Paused);
            }
        }
    }

    fn settle(&mut self, number: usize, good: bool) {
        if let Some(slot) = choose(self.creating.iter().copied(), number) {
            self.creating.remove(&slot);
            if good {
                self.created += 1;
                self.instances.insert(slot, Place::Kept);
                self.handle(Event::Created(slot));
            } else if number.is_multiple_of(3) {
                self.handle(Event::Deferred(slot));
            } else {
                self.handle(Event::Refused(slot, problem()));
            }
        }
        let leaving = self.instances.iter();
        let leaving = leaving.filter(|(_, place)| **place == Place::Leaving);
        if let Some(slot) = choose(leaving.map(|(slot, _)| *slot), number) {
            self.instances.remove(&slot);
            self.destroyed += 1;
            self.handle(Event::Destroyed(slot));
        }
    }

    /// Completes the change. The requester has destroyed the lost instances.
    fn resume(&mut self, lost: &[bool]) {
        let Some(lent) = self.lent.take() else { return };
        if self.supervisor.pause.is_none() {
            return self.forget_lent();
        }
        let mut resumed = Vec::new();
        for (stage, present) in lent {
            let Some(present) = present else { continue };
            let (gone, present): (Vec<_>, Vec<_>) = present
                .into_iter()
                .partition(|it| lost.get(*it).copied().unwrap_or(false));
            for &contestant in &present {
                self.instances
                    .insert(Slot { stage, contestant }, Place::Kept);
            }
            for &contestant in &gone {
                self.instances.remove(&Slot { stage, contestant });
                self.destroyed += 1;
            }
            resumed.push(Resumed {
                stage,
                settings: None,
                present,
                lost: gone.into_iter().map(|it| (it, problem())).collect(),
            });
        }
        self.handle(Event::Resumed(resumed));
    }

    /// The requester leaks its instances.
    fn forget_lent(&mut self) {
        self.lent = None;
        let before = self.instances.len();
        self.instances.retain(|_, place| *place != Place::Lent);
        self.abandoned += before - self.instances.len();
    }

    /// Aborts the run, which must be over after some steps.
    fn end_run(&mut self) {
        self.step(&Step::Mode(3));
        for round in 0..1000 {
            self.step(&Step::Wait(u16::MAX));
            if self.supervisor.is_over() {
                break;
            }
            self.step(&Step::Finish(round));
            self.step(&Step::Settle(round, false));
        }
        assert!(self.supervisor.is_over(), "{:#?}", self.supervisor);
        assert_eq!(self.threads().count() + self.races.len(), 0);
        self.over = true;
        self.handle(Event::Over);
        for round in 0..100 {
            self.step(&Step::Settle(round, false));
        }
        self.forget_lent();
        assert!(self.instances.is_empty(), "{:?}", self.instances);
        assert_eq!(self.created, self.destroyed + self.abandoned);
    }
}

/// Runs, unless `PROPTEST_CASES` gives another number: `./x test full` makes a million events of it.
const RUNS: u32 = 500;
/// The most events of a run.
const MOST_EVENTS: usize = 400;

fn runs() -> ProptestConfig {
    let default = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig {
            cases: RUNS,
            ..default
        },
    }
}

proptest! {
    #![proptest_config(runs())]

    /// Every instance is destroyed once or abandoned once, nothing is created after the end, no backoff exceeds the
    /// bound, and the run ends from every state.
    #[test]
    fn every_instance_is_destroyed_or_abandoned_once(
        stages in stages(),
        steps in prop::collection::vec(step(), 0..MOST_EVENTS),
    ) {
        let mut world = World::start(&stages);
        for step in &steps {
            world.step(step);
        }
        world.end_run();
    }
}
