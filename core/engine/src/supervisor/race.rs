//! Races: who takes part in which, and when a race ends its stage.

use crate::supervisor::event::{Action, Activity, RaceResult, Slot, SlotState, WorkerId};
use crate::supervisor::policy::Decision;
use crate::supervisor::slots::Slots;

/// Decides who takes part in the race for a message.
pub(super) fn message(slots: &mut Slots, race: WorkerId) {
    let must_end = slots.must_end(race.stage);
    let Some(stage) = slots.stages.get(race.stage) else {
        return slots.actions.push(Action::EndRace { is_failure: false });
    };
    let (mut entrants, mut sit_out) = (Vec::new(), Vec::new());
    for (contestant, it) in stage.of_worker(race.worker).iter().enumerate() {
        match it.state {
            SlotState::Running(Activity::Idle) => entrants.push(contestant),
            SlotState::Running(Activity::Busy) => sit_out.push(contestant),
            _ => {}
        }
    }
    let has_contestants = stage.has_contestants(race.worker);
    for &contestant in &entrants {
        change_activity(slots, race.slot(contestant), Activity::Idle, Activity::Busy);
    }
    slots.actions.push(if !entrants.is_empty() {
        Action::Race { entrants, sit_out }
    } else if has_contestants {
        Action::AwaitContestant
    } else {
        let is_failure = !must_end;
        Action::EndRace { is_failure }
    });
}

pub(super) fn joined(slots: &mut Slots, slot: Slot) {
    change_activity(slots, slot, Activity::Joining, Activity::Idle);
}

pub(super) fn call_finished(slots: &mut Slots, slot: Slot, is_over: bool) {
    let next = match is_over {
        true => Activity::Left,
        false => Activity::Idle,
    };
    change_activity(slots, slot, Activity::Busy, next);
}

fn change_activity(slots: &mut Slots, slot: Slot, from: Activity, to: Activity) {
    if let Some(contestant) = slots.contestant(slot)
        && contestant.state == SlotState::Running(from)
    {
        contestant.state = SlotState::Running(to);
    }
}

/// Decides whether a stage continues after a race.
pub(super) fn concluded(slots: &mut Slots, race: WorkerId, result: RaceResult) {
    let Some(stage) = slots.stages.get(race.stage) else {
        return slots.actions.push(Action::Decide(Decision::End));
    };
    slots.actions.push(Action::Decide(match result {
        RaceResult::Answered => Decision::Continue,
        // It costs only the message.
        RaceResult::Failed { restarts: true } => Decision::Continue,
        RaceResult::Failed { restarts: false } => stage.settings.policy.after_race(),
        RaceResult::Ended if stage.has_contestants(race.worker) => Decision::Continue,
        RaceResult::Ended => Decision::End,
    }));
}

/// The thread of a race has ended. `pauses`: because its stage pauses.
pub(super) fn ended(slots: &mut Slots, race: WorkerId, pauses: bool) {
    let Some(stage) = slots.stages.get_mut(race.stage) else {
        return;
    };
    if let Some(worker) = stage.worker(race.worker) {
        worker.races = false;
    }
    match pauses {
        true => stage.note_paused(),
        false => slots.note_end(race),
    }
}
