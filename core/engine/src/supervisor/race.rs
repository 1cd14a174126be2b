//! Races: who takes part in which, and when a race ends its stage.

use crate::supervisor::event::{Action, Activity, RaceResult, Slot, SlotState, ThreadModel};
use crate::supervisor::policy::Decision;
use crate::supervisor::{SupervisedStage, Supervisor};

impl Supervisor {
    /// Decides who takes part in the race for a message.
    pub(super) fn race_message(&mut self, stage: usize) {
        let must_end = self.stage_must_end(stage);
        let Some(stage) = self.stages.get_mut(stage) else {
            return self.actions.push(Action::EndRace { is_failure: false });
        };
        let (mut entrants, mut sit_out) = (Vec::new(), Vec::new());
        for (contestant, it) in stage.slots.iter_mut().enumerate() {
            match it.state {
                SlotState::Running(Activity::Idle) => {
                    it.state = SlotState::Running(Activity::Busy);
                    entrants.push(contestant);
                }
                SlotState::Running(Activity::Busy) => sit_out.push(contestant),
                _ => {}
            }
        }
        self.actions.push(if !entrants.is_empty() {
            Action::Race { entrants, sit_out }
        } else if stage.has_contestants() {
            Action::AwaitContestant
        } else {
            let is_failure = !must_end;
            Action::EndRace { is_failure }
        });
    }

    pub(super) fn joined(&mut self, slot: Slot) {
        self.change_activity(slot, Activity::Joining, Activity::Idle);
    }

    pub(super) fn call_finished(&mut self, slot: Slot, is_over: bool) {
        let next = match is_over {
            true => Activity::Left,
            false => Activity::Idle,
        };
        self.change_activity(slot, Activity::Busy, next);
    }

    fn change_activity(&mut self, slot: Slot, from: Activity, to: Activity) {
        if let Some(contestant) = self.contestant(slot)
            && contestant.state == SlotState::Running(from)
        {
            contestant.state = SlotState::Running(to);
        }
    }

    /// Decides whether a stage continues after a race.
    pub(super) fn race_concluded(&mut self, stage: usize, result: RaceResult) {
        let Some(stage) = self.stages.get(stage) else {
            return self.actions.push(Action::Decide(Decision::End));
        };
        self.actions.push(Action::Decide(match result {
            RaceResult::Answered => Decision::Continue,
            // It costs only the message.
            RaceResult::Failed { restarts: true } => Decision::Continue,
            RaceResult::Failed { restarts: false } => stage.settings.policy.after_race(),
            RaceResult::Ended if stage.has_contestants() => Decision::Continue,
            RaceResult::Ended => Decision::End,
        }));
    }

    pub(super) fn race_ended(&mut self, stage: usize, to_pause: bool) {
        let pausing = self.is_asked_to_pause(stage);
        if let Some(stage) = self.stages.get_mut(stage) {
            stage.races = false;
            if to_pause && pausing {
                stage.note_paused();
            }
        }
    }

    /// Notifies the race of a contestant, if it races.
    pub(super) fn notify_race(&mut self, slot: Slot) {
        let stage = self.stages.get(slot.stage);
        if stage.is_some_and(|it| it.settings.threads == ThreadModel::Race) {
            self.actions.push(Action::NotifyRace(slot));
        }
    }
}

impl SupervisedStage {
    /// Whether a contestant takes part in a later race.
    fn has_contestants(&self) -> bool {
        self.slots.iter().any(|it| match it.state {
            SlotState::Running(activity) => activity != Activity::Left,
            SlotState::Creating | SlotState::Backoff { .. } => true,
            SlotState::Destroying { restart } => restart.is_some(),
            SlotState::Paused { .. }
            | SlotState::Finished
            | SlotState::Gone
            | SlotState::Abandoned => false,
        })
    }
}
