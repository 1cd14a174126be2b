//! A driver of a race without threads: it receives its events later than they are sent.

use std::collections::{BTreeSet, VecDeque};

use super::super::event::{Activity, SlotState};
use super::super::{Action, Decision, Event, Exit, RaceResult, Slot, ThreadModel, WorkerId};
use super::messages::Taker;
use super::world::{Place, World};

/// An event for the driver.
#[derive(Clone, Copy, Debug)]
pub(super) enum Note {
    Joined(usize),
    Missing(usize),
    Done {
        contestant: usize,
        is_over: bool,
        has_failed: bool,
        restarts: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct RaceModel {
    inbox: VecDeque<Note>,
    members: BTreeSet<usize>,
    /// Contestants whose result the driver awaits.
    pending: BTreeSet<usize>,
    /// Contestants that process a message.
    pub(super) busy: BTreeSet<usize>,
    /// It has a message, and waits for an event, since no contestant is free.
    waits: bool,
    /// It has passed its message to contestants.
    is_running: bool,
}

impl RaceModel {
    pub(super) fn new(present: &[Slot]) -> Self {
        let joined = present.iter().map(|slot| Note::Joined(slot.contestant));
        Self {
            inbox: joined.collect(),
            ..Self::default()
        }
    }
}

impl World {
    pub(super) fn notify(&mut self, id: WorkerId, note: Note) {
        assert_eq!(self.model(id.stage), ThreadModel::Race);
        if let Some(race) = self.races.get_mut(&id) {
            race.inbox.push_back(note);
        }
    }

    /// The driver receives its events. Returns the result of the race that is over by them.
    fn receive(&mut self, id: WorkerId) -> RaceResult {
        let mut result = RaceResult::Answered;
        while let Some(race) = self.races.get_mut(&id)
            && let Some(note) = race.inbox.pop_front()
        {
            race.waits = false;
            match note {
                Note::Joined(contestant) => {
                    race.members.insert(contestant);
                    race.pending.remove(&contestant);
                    self.handle(Event::Joined(id.slot(contestant)));
                }
                Note::Missing(contestant) => {
                    race.members.remove(&contestant);
                    race.pending.remove(&contestant);
                }
                Note::Done {
                    contestant,
                    is_over,
                    has_failed,
                    restarts,
                } => {
                    race.pending.remove(&contestant);
                    if is_over || restarts {
                        race.members.remove(&contestant);
                    }
                    result = match (has_failed, is_over) {
                        (true, _) => RaceResult::Failed { restarts },
                        (false, true) => RaceResult::Ended,
                        (false, false) => result,
                    };
                    let slot = id.slot(contestant);
                    self.handle(Event::CallFinished { slot, is_over });
                    // The driver has dropped its channel.
                    if is_over && self.instances.get(&slot) == Some(&Place::Thread) {
                        self.end(&[(slot, Exit::Finished)]);
                    }
                }
            }
        }
        result
    }

    /// The driver concludes its race, if it has one. Returns whether the stage continues.
    fn conclude(&mut self, id: WorkerId, result: RaceResult) -> bool {
        let race = self.races.get_mut(&id);
        if !race.is_some_and(|race| std::mem::take(&mut race.is_running)) {
            return true;
        }
        match result {
            RaceResult::Answered => self.succeed(id),
            RaceResult::Ended | RaceResult::Failed { .. } => self.messages.lose(id),
        }
        let actions = self.report(Event::RaceConcluded { race: id, result });
        let [Action::Decide(decision)] = actions[..] else {
            panic!("{actions:?}");
        };
        if decision == Decision::End {
            self.end_race(id, false);
        }
        decision != Decision::End
    }

    /// The driver concludes its race, and takes the next message.
    pub(super) fn drive(&mut self, id: WorkerId) {
        let result = self.receive(id);
        if !self.conclude(id, result) {
            return;
        }
        if !self.messages.has_one(id) {
            self.messages.take(id, Taker::Race);
        }
        let actions = self.report(Event::RaceMessage(id));
        let [action] = &actions[..] else {
            panic!("{actions:?}");
        };
        let race = self.races.get_mut(&id).unwrap();
        match action {
            Action::Race { entrants, sit_out } => {
                assert!(!entrants.is_empty());
                for contestant in entrants {
                    assert!(race.members.contains(contestant), "{contestant} is unknown");
                    assert!(race.pending.insert(*contestant), "{contestant} is busy");
                    assert!(race.busy.insert(*contestant), "{contestant} is busy");
                    assert!(!sit_out.contains(contestant));
                }
                race.is_running = true;
            }
            Action::AwaitContestant => race.waits = true,
            Action::EndRace { .. } => {
                assert!(race.pending.is_empty(), "{race:?}");
                self.end_race(id, false);
            }
            other => panic!("{other:?}"),
        }
        self.check_waiting();
    }

    /// A race that waits is notified at last: a contestant of it is busy, or gets an instance, or an event is on its
    /// way.
    fn check_waiting(&self) {
        for (id, race) in self.races.iter().filter(|(_, race)| race.waits) {
            let slots = self.supervisor.slots.stages[id.stage].of_worker(id.worker);
            let comes = slots.iter().any(|it| match it.state {
                SlotState::Creating | SlotState::Backoff { .. } => true,
                SlotState::Running(activity) => activity != Activity::Left,
                SlotState::Destroying { restart } => restart.is_some(),
                _ => false,
            });
            assert!(comes || !race.inbox.is_empty(), "{race:?}: {slots:?}");
        }
    }

    /// A contestant finishes its call.
    pub(super) fn finish_call(&mut self, slot: Slot, is_over: bool) {
        self.races
            .get_mut(&slot.worker_id())
            .unwrap()
            .busy
            .remove(&slot.contestant);
        let contestant = slot.contestant;
        let done = Note::Done {
            contestant,
            is_over,
            has_failed: false,
            restarts: false,
        };
        self.notify(slot.worker_id(), done);
        self.check_waiting();
    }

    /// A call of a contestant fails.
    pub(super) fn fail_call(&mut self, slot: Slot, is_alive: bool) {
        self.races
            .get_mut(&slot.worker_id())
            .unwrap()
            .busy
            .remove(&slot.contestant);
        let decision = self.fail(slot, is_alive);
        let restarts = matches!(decision, Decision::Restart(_));
        let is_over = decision == Decision::End && !is_alive;
        let contestant = slot.contestant;
        let done = Note::Done {
            contestant,
            is_over,
            has_failed: true,
            restarts,
        };
        self.notify(slot.worker_id(), done);
        match decision {
            Decision::Restart(after) => self.end(&[(slot, Exit::Restart(after))]),
            Decision::End if is_over => self.end(&[(slot, Exit::Finished)]),
            Decision::End | Decision::Continue => {}
        }
        self.check_waiting();
    }

    /// The thread of a race ends. Its contestants end when they have nothing to do.
    pub(super) fn end_race(&mut self, race: WorkerId, to_pause: bool) {
        self.races.remove(&race);
        assert!(
            !to_pause || !self.messages.has_one(race),
            "it pauses between two messages"
        );
        self.messages.remove_taker(race, Taker::Race);
        self.handle(Event::RaceEnded { race, to_pause });
        let all = self.threads().filter(|slot| slot.worker_id() == race);
        let all: Vec<_> = all.collect();
        for slot in all {
            self.end(&[(slot, Exit::Finished)]);
        }
    }

    /// A race whose gate is closed waits for all results, and pauses.
    pub(super) fn pause_race(&mut self, id: WorkerId) {
        if self.races.get(&id).is_some_and(|race| race.waits) {
            // It has taken a message that it must process first.
            return self.drive(id);
        }
        let result = self.receive(id);
        if self.races[&id].pending.is_empty() && self.conclude(id, result) {
            self.paused.insert(id);
            self.end_race(id, true);
        }
    }
}
