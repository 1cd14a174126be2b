//! The steps of a random run.

use std::collections::BTreeSet;
use std::time::Duration;

use flowpipe_host::run::{Ending, Mode};
use proptest::prelude::*;

use super::super::{
    Decision, Event, Excess, Exit, Resumed, Slot, StopCause, ThreadModel, WorkerId,
};
use super::messages::Taker;
use super::problem;
use super::world::{Place, World, lost, slots};

/// A step of a test. The numbers choose among the possible slots or stages.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A call of a plugin fails.
    Fail(usize, bool),
    /// It succeeds.
    Succeed(usize, bool),
    /// It hangs.
    Hang(usize, bool),
    /// A thread takes a message.
    Take(usize),
    /// A thread ends with its stream.
    Finish(usize),
    /// It panics.
    Panic(usize),
    /// The next start of threads fails, after this many of them have started.
    FailStart(usize),
    /// A thread whose gate is closed pauses.
    Pause(usize),
    /// A creation and a destruction complete.
    Settle(usize, bool),
    /// A change of the pipeline requests a pause.
    Ask(Vec<usize>),
    /// The change completes, and the stages resume. By slot: whether its instance was lost. Whether the settings
    /// of stages change, and whether there is a new stage.
    Resume(Vec<bool>, Vec<bool>),
    /// The requester panics.
    Vanish,
    /// A stage is removed.
    Remove(usize),
    /// The run is ending.
    Stop(u8),
    /// Time passes.
    Wait(u16),
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let which = 0_usize..64;
    let flags = || prop::collection::vec(any::<bool>(), 8);
    prop_oneof![
        4 => (which.clone(), any::<bool>()).prop_map(|(it, alive)| Step::Fail(it, alive)),
        4 => (which.clone(), any::<bool>()).prop_map(|(it, over)| Step::Succeed(it, over)),
        2 => (which.clone(), any::<bool>()).prop_map(|(it, can)| Step::Hang(it, can)),
        12 => which.clone().prop_map(Step::Take),
        1 => which.clone().prop_map(Step::Finish),
        1 => which.clone().prop_map(Step::Panic),
        1 => which.clone().prop_map(Step::FailStart),
        6 => which.clone().prop_map(Step::Pause),
        6 => (which.clone(), any::<bool>()).prop_map(|(it, good)| Step::Settle(it, good)),
        2 => prop::collection::vec(0_usize..4, 1..4).prop_map(Step::Ask),
        2 => (flags(), flags()).prop_map(|(lost, changed)| Step::Resume(lost, changed)),
        1 => Just(Step::Vanish),
        1 => which.prop_map(Step::Remove),
        1 => (0_u8..20).prop_map(Step::Stop),
        6 => any::<u16>().prop_map(Step::Wait),
    ]
}

/// The most stages of a run.
const MOST_STAGES: usize = 8;

fn choose<T: Copy>(all: impl Iterator<Item = T>, number: usize) -> Option<T> {
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| all[number % all.len()])
}

impl World {
    pub(super) fn step(&mut self, step: &Step) {
        match *step {
            Step::Fail(number, is_alive) => self.fail_some(number, is_alive),
            Step::Succeed(number, is_over) => {
                if let Some(slot) = self.some_call(number) {
                    self.handle(Event::Succeeded(slot));
                    match self.model(slot.stage) {
                        ThreadModel::Race => self.finish_call(slot, is_over && number < 8),
                        _ => self.succeed(self.taker(slot).0),
                    }
                }
            }
            Step::Hang(number, can_create) => self.hang(number, can_create),
            Step::Take(number) => self.take(number),
            Step::Finish(number) => self.finish(number),
            Step::Panic(number) => {
                let threads: Vec<_> = self.threads().collect();
                if let Some(slot) = choose(threads.into_iter(), number) {
                    self.end_thread(slot, Exit::Panicked);
                }
            }
            Step::FailStart(number) => self.failing_start = Some(number),
            Step::Pause(number) => self.pause(number),
            Step::Settle(number, good) => self.settle(number, good),
            Step::Ask(ref stages) => {
                let stages: BTreeSet<_> = stages.iter().map(|it| it % self.stages()).collect();
                if self.may_pause() {
                    self.asked = true;
                    self.handle(Event::Pause {
                        stages: stages.into_iter().collect(),
                        patience: Duration::from_millis(20),
                    });
                }
            }
            Step::Resume(ref lost, ref changed) => self.resume(lost, changed),
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
            Step::Stop(number) => {
                let cause = match number {
                    0..6 => StopCause::Request,
                    6 => StopCause::Abort,
                    7 => StopCause::Stage(Ending::Done),
                    8 => StopCause::Stage(Ending::Stopped),
                    9 => StopCause::Failure,
                    10 => StopCause::OtherMachine,
                    // Runs that go on are more interesting.
                    _ => return,
                };
                self.handle(Event::Stop(cause));
            }
            Step::Wait(time) => self.pass(Duration::from_millis(u64::from(time))),
        }
    }

    fn stages(&self) -> usize {
        self.supervisor.slots.stages.len()
    }

    /// A thread takes a message, unless it has one. The driver of a race also handles its events.
    fn take(&mut self, number: usize) {
        let takers = self.messages.takers();
        let takers = takers.filter(|(_, taker)| *taker != Taker::Requester);
        match choose(takers, number) {
            Some((id, Taker::Race)) => self.drive(id),
            Some((id, taker)) if !self.messages.has_one(id) => {
                self.messages.take(id, taker);
            }
            _ => {}
        }
    }

    /// A plugin whose call is in progress. A plugin without a race takes a message for it.
    fn some_call(&mut self, number: usize) -> Option<Slot> {
        let is_called = |slot: &Slot| match self.model(slot.stage) {
            ThreadModel::Race => self
                .races
                .get(&slot.worker_id())
                .is_some_and(|race| race.busy.contains(&slot.contestant)),
            ThreadModel::One | ThreadModel::Replay => true,
        };
        let slot = choose(self.threads().filter(is_called), number)?;
        if self.model(slot.stage) == ThreadModel::Race {
            return Some(slot);
        }
        let (id, taker) = self.taker(slot);
        if !self.messages.has_one(id) {
            self.messages.take(id, taker);
        }
        Some(slot)
    }

    /// Who takes the messages of a plugin that does not race.
    fn taker(&self, slot: Slot) -> (WorkerId, Taker) {
        let stage = slot.stage;
        match self.model(stage) {
            ThreadModel::Replay => (WorkerId { stage, worker: 0 }, Taker::Replay),
            ThreadModel::One | ThreadModel::Race => (slot.worker_id(), Taker::Plugin(slot)),
        }
    }

    fn fail_some(&mut self, number: usize, is_alive: bool) {
        let Some(slot) = self.some_call(number) else {
            return;
        };
        if self.model(slot.stage) == ThreadModel::Race {
            return self.fail_call(slot, is_alive);
        }
        self.messages.lose(self.taker(slot).0);
        match self.fail(slot, is_alive) {
            Decision::Restart(after) => self.end_thread(slot, Exit::Restart(after)),
            Decision::End => self.end_thread(slot, Exit::Finished),
            Decision::Continue => {}
        }
    }

    /// The thread of a plugin ends, with all plugins that it calls.
    fn end_thread(&mut self, slot: Slot, exit: Exit) {
        match self.model(slot.stage) {
            ThreadModel::One => {
                let taker = Taker::Plugin(slot);
                self.messages.remove_taker(slot.worker_id(), taker);
                self.end(&[(slot, exit)]);
            }
            ThreadModel::Race => {
                if let Some(race) = self.races.get_mut(&slot.worker_id()) {
                    race.busy.remove(&slot.contestant);
                }
                self.end(&[(slot, exit)]);
            }
            ThreadModel::Replay => {
                self.messages
                    .remove_taker(self.taker(slot).0, Taker::Replay);
                let other = match exit {
                    Exit::Restart(_) => Exit::Waits,
                    exit => exit,
                };
                let all = self.threads().filter(|it| it.stage == slot.stage);
                let exits = all.map(|it| (it, if it == slot { exit } else { other }));
                let exits: Vec<_> = exits.collect();
                self.end(&exits);
            }
        }
    }

    fn hang(&mut self, number: usize, can_create: bool) {
        let Some(mut slot) = self.some_call(number) else {
            return;
        };
        let mut excess = None;
        match self.model(slot.stage) {
            ThreadModel::One => {
                let taker = Taker::Plugin(slot);
                self.messages.remove_taker(slot.worker_id(), taker);
                self.abandon(slot);
            }
            ThreadModel::Race => {
                let race = self.races.get_mut(&slot.worker_id()).unwrap();
                race.busy.remove(&slot.contestant);
                self.abandon(slot);
            }
            ThreadModel::Replay => {
                self.messages
                    .remove_taker(self.taker(slot).0, Taker::Replay);
                let stage = slot.stage;
                let all: Vec<_> = self.threads().filter(|it| it.stage == stage).collect();
                all.into_iter().for_each(|it| self.abandon(it));
                slot = WorkerId { stage, worker: 0 }.slot(0);
                excess = match number % 8 {
                    0 => Some(Excess::Time),
                    1 => Some(Excess::Memory),
                    _ => None,
                };
            }
        }
        self.handle(Event::Hung {
            slot,
            was_stopped: number.is_multiple_of(2),
            excess,
            can_create,
            problem: problem(),
        });
    }

    /// Ends the stream of a stage or of a race.
    fn finish(&mut self, number: usize) {
        // A contestant that was being created when its race ended finds no race, and ends.
        let alone: Vec<_> = self
            .threads()
            .filter(|slot| !self.races.contains_key(&slot.worker_id()))
            .collect();
        if let Some(slot) = choose(alone.into_iter(), number) {
            self.end_thread(slot, Exit::Finished);
        } else if let Some(race) = choose(self.races.keys().copied(), number) {
            self.end_race(race, false);
        }
    }

    /// A thread reaches a closed gate.
    fn pause(&mut self, number: usize) {
        let Some(stage) = choose(self.gated.iter().copied(), number) else {
            return;
        };
        let races = self.races.keys().filter(|it| it.stage == stage);
        if let Some(race) = choose(races.copied(), number) {
            return self.pause_race(race);
        }
        let threads = self.threads().filter(|slot| slot.stage == stage);
        if let Some(slot) = choose(threads, number)
            && self.model(stage) == ThreadModel::One
        {
            // It pauses between two messages.
            let id = slot.worker_id();
            if self.messages.has_one(id) {
                self.succeed(id);
            }
            if number.is_multiple_of(8) {
                // Its stream ends before it reaches the gate.
                return self.end_thread(slot, Exit::Finished);
            }
            self.paused.insert(id);
            self.end_thread(slot, Exit::Paused);
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
                self.handle(Event::CreateFailed(slot, problem()));
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

    /// Completes the change. The requester has destroyed the instances that it does not return.
    fn resume(&mut self, losses: &[bool], changes: &[bool]) {
        let Some(lent) = self.take_lent() else { return };
        if self.supervisor.pause.is_none() {
            return self.forget_lent();
        }
        let flag = |all: &[bool], index: usize| all.get(index).copied().unwrap_or(false);
        let is_lost = |slot: &Slot| flag(losses, (slot.worker * 3 + slot.contestant) % 8);
        let mut resumed = Vec::new();
        for (index, (stage, present)) in lent.into_iter().enumerate() {
            let Some(mut present) = present else { continue };
            if flag(changes, 7) && self.supervisor.slots.stages[stage].is_removed {
                // As a removed source.
                self.destroy_lent(&present);
                continue;
            }
            let settings = flag(changes, index).then(|| self.others[index % self.others.len()]);
            if let Some(settings) = settings {
                let all = slots(stage, &settings);
                let (kept, left): (Vec<_>, Vec<_>) =
                    present.iter().copied().partition(|it| all.contains(it));
                self.destroy_lent(&left);
                present = all;
                let new = present.iter().filter(|it| !kept.contains(it));
                for &slot in new {
                    self.instances.insert(slot, Place::Lent);
                    self.created += 1;
                }
            }
            let (gone, present): (Vec<_>, Vec<_>) = present.into_iter().partition(is_lost);
            for &slot in &present {
                self.instances.insert(slot, Place::Kept);
            }
            self.destroy_lent(&gone);
            resumed.push(Resumed {
                stage,
                settings,
                present,
                lost: lost(gone),
            });
        }
        if flag(changes, 6) && self.stages() < MOST_STAGES {
            let settings = self.others[0];
            resumed.push(self.add(self.stages(), settings));
        }
        self.handle(Event::Resumed(resumed));
    }

    fn destroy_lent(&mut self, slots: &[Slot]) {
        for slot in slots {
            self.instances.remove(slot);
            self.destroyed += 1;
        }
    }

    /// Aborts the run, which must be over after some steps.
    pub(super) fn end_run(&mut self) {
        self.handle(Event::Stop(StopCause::Abort));
        assert_eq!(self.mode, Mode::Abort);
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
        self.messages.assert_no_takers();
        self.assert_all_closed();
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
