//! The slots of all stages, and what happens to the instance of each: how it is created, fails, hangs, ends, and is
//! destroyed.

use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::ending::RunEnd;
use crate::supervisor::event::{
    Action, Activity, Event, Excess, Exit, Slot, SlotState, StopCause, ThreadModel, WorkerId,
};
use crate::supervisor::pause::Pause;
use crate::supervisor::policy::Decision;
use crate::supervisor::stage::{Contestant, GateState, SupervisedStage};
use crate::supervisor::transitions::Cause;

/// All stages, and what a decision about their slots needs.
#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) end: RunEnd,
    pub(super) stages: Vec<SupervisedStage>,
    pub(super) now: i64,
    /// Why slots change their state now.
    pub(super) cause: Cause,
    pub(super) actions: Vec<Action>,
    /// The transitions since the last event of a test.
    #[cfg(test)]
    pub(super) log: std::collections::BTreeSet<super::transitions::Transition>,
}

/// A stage that hangs more often than this is not restarted, because each hang leaks a thread.
const MOST_HUNG: u32 = 32;

/// How soon to try again to create an instance while another thread creates or destroys one.
pub(crate) const DEFERRED: Duration = Duration::from_millis(5);

impl Slots {
    /// Begins to handle an event at this time.
    pub(super) fn begin(&mut self, event: &Event, now: i64) {
        self.now = self.now.max(now);
        self.cause = Cause::of(event);
    }

    /// The actions since the event.
    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// When the next backoff elapses.
    pub(super) fn next_due(&self) -> Option<i64> {
        let stages = self.stages.iter().enumerate();
        let backoffs = stages.flat_map(|(index, stage)| {
            let waits = |slot: Slot| !stage.is_gated() || stage.races(slot.worker);
            let slots = stage.all(index);
            slots.filter_map(move |(slot, it)| match it.state {
                SlotState::Backoff { until } if waits(slot) => Some(until),
                _ => None,
            })
        });
        backoffs.min()
    }

    /// The state of a slot.
    pub(super) fn state(&self, slot: Slot) -> Option<SlotState> {
        let stage = self.stages.get(slot.stage)?;
        Some(stage.slots.get(stage.place(slot)?)?.state)
    }

    pub(super) fn contestant(&mut self, slot: Slot) -> Option<&mut Contestant> {
        let stage = self.stages.get_mut(slot.stage)?;
        let place = stage.place(slot)?;
        stage.slots.get_mut(place)
    }

    /// Changes the state of a slot, as the table allows.
    pub(super) fn set(&mut self, slot: Slot, state: SlotState) {
        self.set_all(slot.stage, |it, _| (it == slot).then_some(state));
    }

    /// Changes the states of all slots of a stage. `None`: a state stays.
    pub(super) fn set_all(
        &mut self,
        stage: usize,
        next: impl Fn(Slot, SlotState) -> Option<SlotState>,
    ) {
        let cause = self.cause;
        let Some(it) = self.stages.get_mut(stage) else {
            return;
        };
        let states = it.all(stage).map(|(slot, it)| next(slot, it.state));
        let states: Vec<_> = states.collect();
        for (contestant, state) in it.slots.iter_mut().zip(states) {
            if let Some(state) = state {
                #[cfg(test)]
                self.log
                    .insert(super::transitions::row(contestant.state, cause, state));
                contestant.set(state, cause);
            }
        }
    }

    pub(super) fn set_gate(&mut self, stage: usize, gate: GateState) {
        if let Some(stage) = self.stages.get_mut(stage) {
            stage.gate = gate;
        }
    }

    pub(super) fn after(&self, time: Duration) -> i64 {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        self.now.saturating_add(time)
    }

    pub(super) fn stop(&mut self, cause: StopCause) {
        let mode = self.end.stop(cause);
        self.set_mode(mode);
    }

    fn set_mode(&mut self, mode: Mode) {
        self.actions.extend(self.end.advance(mode));
    }

    /// Whether a stage has to end after the current call.
    pub(super) fn must_end(&self, stage: usize) -> bool {
        let stage = self.stages.get(stage);
        stage.is_none_or(|stage| self.end.must_end(stage))
    }

    pub(super) fn succeeded(&mut self, slot: Slot) {
        if let Some(contestant) = self.contestant(slot) {
            contestant.failures = 0;
        }
    }

    pub(super) fn failed(&mut self, slot: Slot, is_alive: bool) {
        let decision = self.after_failure(slot, is_alive);
        let next = match decision {
            Decision::Restart(_) => Some(Activity::Restarting),
            // It can't take part in a race any more. Without a race, its thread ends.
            Decision::End if !is_alive => Some(Activity::Left),
            Decision::End | Decision::Continue => None,
        };
        if let (Some(next), Some(contestant)) = (next, self.contestant(slot))
            && let SlotState::Running(_) = contestant.state
        {
            contestant.state = SlotState::Running(next);
        }
        self.actions.push(Action::Decide(decision));
    }

    /// Counts a failure, and decides what to do.
    pub(super) fn after_failure(&mut self, slot: Slot, is_alive: bool) -> Decision {
        let must_end = self.must_end(slot.stage);
        let Some(contestant) = self.contestant(slot) else {
            return Decision::End;
        };
        contestant.failures = contestant.failures.saturating_add(1);
        let failures = contestant.failures;
        if must_end && !is_alive {
            // It needs no replacement, and the run does not fail.
            return Decision::Restart(Duration::ZERO);
        }
        let policy = &self.stages[slot.stage].settings.policy;
        policy.after_failure(failures, is_alive)
    }

    pub(super) fn created(&mut self, slot: Slot) {
        if self.state(slot) != Some(SlotState::Creating) {
            return;
        }
        let stage = &self.stages[slot.stage];
        let running = stage.started();
        if stage.settings.threads != ThreadModel::Replay {
            self.set(slot, running);
            let is_restart = true;
            return self.actions.push(Action::Start { slot, is_restart });
        }
        self.set(slot, SlotState::Paused { is_there: true });
        let stage = &self.stages[slot.stage];
        let is_there = |it: &Contestant| it.state == SlotState::Paused { is_there: true };
        if stage.slots.iter().all(is_there) {
            let restarted = stage.slots.iter().map(|it| it.is_restart).collect();
            self.set_all(slot.stage, |_, _| Some(running));
            for contestant in &mut self.stages[slot.stage].slots {
                contestant.is_restart = false;
            }
            self.actions.push(Action::StartReplay {
                stage: slot.stage,
                restarted: Some(restarted),
            });
        }
    }

    pub(super) fn deferred(&mut self, slot: Slot) {
        if self.state(slot) == Some(SlotState::Creating) {
            let until = self.after(DEFERRED);
            self.set(slot, SlotState::Backoff { until });
        }
    }

    pub(super) fn create_failed(&mut self, slot: Slot, problem: Problem) {
        if self.state(slot) != Some(SlotState::Creating) {
            return;
        }
        if self.must_end(slot.stage) {
            return self.set_gone(slot);
        }
        let Some(contestant) = self.contestant(slot) else {
            return;
        };
        contestant.failures = contestant.failures.saturating_add(1);
        let failures = contestant.failures;
        let stage = &self.stages[slot.stage];
        if let Some(after) = stage.settings.policy.after_refusal(failures) {
            self.actions.push(Action::Report(problem));
            let until = self.after(after);
            self.notify_race(slot);
            return self.set(slot, SlotState::Backoff { until });
        }
        let races = stage.settings.threads == ThreadModel::Race;
        self.set_gone(slot);
        self.actions.push(match races {
            true => Action::Report(problem),
            false => Action::Fail(problem),
        });
    }

    /// Marks a slot whose failed plugin is not replaced.
    fn set_gone(&mut self, slot: Slot) {
        self.set(slot, SlotState::Gone);
        match self.stages[slot.stage].settings.threads {
            ThreadModel::Race => return self.actions.push(Action::NotifyRace(slot)),
            // Plugins of the same thread are not needed any more.
            ThreadModel::Replay => self.set_all(slot.stage, |_, state| match state {
                SlotState::Paused { is_there: true } => Some(SlotState::Finished),
                SlotState::Backoff { .. } => Some(SlotState::Gone),
                _ => None,
            }),
            ThreadModel::One => {}
        }
        self.end_alone(slot);
    }

    /// Handles that a plugin without a race is not replaced.
    pub(super) fn end_alone(&mut self, slot: Slot) {
        let stage = slot.stage;
        match self.stages[stage].settings.threads {
            // The one thread of the stage has ended.
            ThreadModel::Replay => self.actions.push(Action::Close { stage }),
            ThreadModel::One | ThreadModel::Race => self.end_worker(slot.worker_id()),
        }
    }

    /// A worker takes no further message. Closes the stage after the last one.
    pub(super) fn end_worker(&mut self, id: WorkerId) {
        let Some(stage) = self.stages.get_mut(id.stage) else {
            return;
        };
        if let Some(worker) = stage.worker(id.worker) {
            worker.is_over = true;
        }
        if stage.workers.iter().all(|worker| worker.is_over) {
            let stage = id.stage;
            self.actions.push(Action::Close { stage });
        }
    }

    /// A worker's thread has ended with its stream. The thread of an only worker has closed the stage.
    pub(super) fn note_end(&mut self, id: WorkerId) {
        match self.stages.get_mut(id.stage) {
            Some(stage) if stage.settings.workers == 1 => stage.workers[0].is_over = true,
            _ => self.end_worker(id),
        }
    }

    pub(super) fn destroyed(&mut self, slot: Slot) {
        if let Some(SlotState::Destroying { restart }) = self.state(slot) {
            let next = restart.map_or(SlotState::Gone, |until| SlotState::Backoff { until });
            self.set(slot, next);
        }
    }

    pub(super) fn hung(
        &mut self,
        slot: Slot,
        (was_stopped, excess, can_create): (bool, Option<Excess>, bool),
        problem: Problem,
    ) {
        if !matches!(self.state(slot), Some(SlotState::Running(_))) {
            return self.actions.push(Action::Report(problem));
        }
        let was_stopped = was_stopped || excess.is_some();
        let must_end = self.must_end(slot.stage);
        let stage = &mut self.stages[slot.stage];
        let threads = stage.settings.threads;
        let few = stage.hung < MOST_HUNG;
        stage.hung = stage.hung.saturating_add(1);
        // A new instance would exceed the limit of the replay again.
        let restart = match !must_end && few && excess.is_none() {
            true => match self.after_failure(slot, false) {
                Decision::Restart(after) => Some(after),
                Decision::Continue | Decision::End => None,
            },
            false => None,
        };
        let is_race = threads == ThreadModel::Race;
        let ends_run = !is_race && restart.is_none() && !was_stopped && !must_end;
        let state = match restart {
            Some(after) => SlotState::Backoff {
                until: self.after(after),
            },
            None => SlotState::Abandoned,
        };
        match threads {
            // The abandoned thread called all of them.
            ThreadModel::Replay => self.set_all(slot.stage, |_, _| Some(state)),
            ThreadModel::One | ThreadModel::Race => self.set(slot, state),
        }
        let is_gated = self.stages[slot.stage].is_gated();
        let waits = is_gated || !can_create || restart != Some(Duration::ZERO);
        if !is_race && restart.is_none() {
            self.end_alone(slot);
        }
        self.actions.push(match ends_run {
            true => Action::Fail(problem),
            false => Action::Report(problem),
        });
        // An instance that is replaced at once joins before the race checks for free contestants.
        if waits {
            self.notify_race(slot);
        }
        if excess == Some(Excess::Memory) {
            // The abandoned thread goes on taking memory: only the end of the process stops it.
            self.set_mode(Mode::Abort);
        }
    }

    /// The thread of a plugin has ended. `is_asked_to_pause`: its stage is to pause.
    pub(super) fn ended(&mut self, slot: Slot, exit: Exit, is_asked_to_pause: bool) {
        let Some(SlotState::Running(activity)) = self.state(slot) else {
            return;
        };
        let pauses = is_asked_to_pause && activity != Activity::Left;
        let stage = &mut self.stages[slot.stage];
        let is_alone = stage.settings.threads == ThreadModel::One;
        let is_over = match exit {
            Exit::Finished | Exit::Panicked => true,
            Exit::Paused => !pauses,
            Exit::Waits | Exit::Restart(_) => false,
        };
        match exit {
            Exit::Waits => self.set(slot, SlotState::Paused { is_there: true }),
            Exit::Finished | Exit::Paused if pauses => {
                if exit == Exit::Paused {
                    stage.note_paused();
                }
                self.set(slot, SlotState::Paused { is_there: true });
            }
            Exit::Finished | Exit::Paused if stage.is_removed => self.destroy(slot, None),
            Exit::Finished | Exit::Paused => self.set(slot, SlotState::Finished),
            Exit::Restart(after) => {
                let restart = Some(self.after(after));
                if let Some(contestant) = self.contestant(slot) {
                    contestant.is_restart = true;
                }
                self.destroy(slot, restart);
            }
            Exit::Panicked => {
                self.set(slot, SlotState::Abandoned);
                self.notify_race(slot);
            }
        }
        if is_alone && is_over {
            self.note_end(slot.worker_id());
        }
    }

    pub(super) fn destroy(&mut self, slot: Slot, restart: Option<i64>) {
        self.set(slot, SlotState::Destroying { restart });
        self.actions.push(Action::Destroy(slot));
    }

    /// Destroys all finished instances, when the run is over.
    pub(super) fn destroy_finished(&mut self) {
        let is_there = |state| {
            matches!(
                state,
                SlotState::Finished | SlotState::Paused { is_there: true }
            )
        };
        for stage in 0..self.stages.len() {
            for slot in self.stages[stage].slots_in(stage, is_there) {
                self.destroy(slot, None);
            }
        }
    }

    /// Notifies the race of a contestant, if it races, that it has no instance any more.
    pub(super) fn notify_race(&mut self, slot: Slot) {
        let stage = self.stages.get(slot.stage);
        if stage.is_some_and(|it| it.settings.threads == ThreadModel::Race) {
            self.actions.push(Action::NotifyRace(slot));
        }
    }

    /// Creates the instances whose backoff has elapsed, and those that a pause needs earlier.
    pub(super) fn create_due(&mut self, mut pause: Option<&mut Pause>) {
        self.cause = Cause::Due;
        for index in 0..self.stages.len() {
            let waiting = |state| matches!(state, SlotState::Backoff { .. });
            for slot in self.stages[index].slots_in(index, waiting) {
                // Those of a replay change together.
                if let Some(SlotState::Backoff { until }) = self.state(slot) {
                    self.create_if_due(slot, until, pause.as_deref_mut());
                }
            }
        }
    }

    fn create_if_due(&mut self, slot: Slot, until: i64, pause: Option<&mut Pause>) {
        let stage = &self.stages[slot.stage];
        let is_race = stage.settings.threads == ThreadModel::Race;
        let race_is_over = is_race && !stage.races(slot.worker);
        // A race without instances has to end before it can pause.
        let pauses = stage.is_gated() && (!is_race || race_is_over);
        if pauses {
            return;
        }
        let must_end = self.end.must_end(stage);
        // No backoff at the end of a run.
        let is_time = self.end.mode > Mode::Run || race_is_over || until <= self.now;
        if !is_time && !pause.is_some_and(|pause| pause.hurries(slot)) {
            return;
        }
        if must_end || race_is_over {
            return self.set_gone(slot);
        }
        self.set(slot, SlotState::Creating);
        self.actions.push(Action::Create(slot));
    }
}
