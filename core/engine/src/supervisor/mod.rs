//! The lifecycle of every plugin of a run, as one state machine without threads, clocks and I/O.
//!
//! [`Supervisor::handle`] takes an event and the time of the run's clock, and returns actions. The control thread
//! performs them ([`crate::run::control`]). A worker reports only its own failures, and is answered whether it
//! continues. The [`policy`] holds the pipeline's restart settings; changes of a running pipeline are in [`pause`].
//!
//! # A slot
//!
//! Each plugin of each stage has a [`Slot`], which holds at most one instance. This table lists the transitions of its
//! [`SlotState`]. Every instance that was created is destroyed once or abandoned once.
//!
//! | state | event | next state | actions |
//! |---|---|---|---|
//! | any | its stage starts or resumes with an instance | Running | start its thread |
//! | any | its stage starts or resumes without one | Backoff | |
//! | Creating | it was created | Running | start its thread |
//! | Creating | it was created, and others of its thread are not yet (a replay) | Paused | |
//! | Creating | it failed to start, and the policy restarts it | Backoff | report |
//! | Creating | it failed to start | Gone | report; close the stage, or notify the race |
//! | Creating | plugins can't be called now | Backoff, for 5 ms | |
//! | Running | it failed, and the policy restarts it: its thread ends | Destroying | destroy it |
//! | Running | its thread ends, because another plugin of it is restarted (a replay) | Paused | |
//! | Running | its thread ends, to pause | Paused | |
//! | Running | its thread ends with the stream | Finished | |
//! | Running | its stage is removed from the pipeline | Draining | |
//! | Running | it hangs, and the policy restarts it: instance and thread are abandoned | Backoff | report |
//! | Running | it hangs: instance and thread are abandoned | Abandoned | report; close the stage, or notify the race |
//! | Running | its thread panics, a bug in this program | Abandoned | |
//! | Draining | its thread ends with the stream | Destroying | destroy it |
//! | Draining | any other event | as Running | as Running |
//! | Destroying | it is destroyed, and is to be restarted | Backoff | |
//! | Destroying | it is destroyed | Gone | |
//! | Backoff | it is due, and the stage has to end or its race is over | Gone | close the stage, or notify the race |
//! | Backoff | it is due, or the run is ending | Creating | create it |
//! | Backoff | its stage pauses | Paused, without an instance | |
//! | Paused | all stages are paused: the requester owns the instances | Paused | |
//! | Paused | the stage had ended before it could pause | Finished | |
//! | Finished | the run is over | Destroying | destroy it |
//!
//! A stage whose gate is closed starts nothing, with one exception: a race without instances has to end before it can
//! pause.

mod event;
mod pause;
mod policy;
#[cfg(test)]
mod tests;
pub(crate) mod watchdog;

use std::time::Duration;

pub(crate) use event::{Action, Event, Exit, Slot, SlotState};
use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;
use pause::Pause;
pub(crate) use pause::{Answer, Refusal, Resumed, Settings};
pub(crate) use policy::{Decision, Policy};

/// The state of all plugins of a run.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    mode: Mode,
    stages: Vec<SupervisedStage>,
    pause: Option<Pause>,
    now: i64,
    actions: Vec<Action>,
}

/// One stage.
#[derive(Debug)]
struct SupervisedStage {
    policy: Policy,
    is_source: bool,
    /// How its plugins are called.
    threads: ThreadModel,
    slots: Vec<Contestant>,
    /// The thread of its race has not ended.
    races: bool,
    /// Its gate is closed.
    is_gated: bool,
    /// Its thread has ended because it pauses.
    is_paused: bool,
    is_removed: bool,
    hung: u32,
}

/// How the plugins of a stage are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadModel {
    /// It has one plugin, with a thread.
    One,
    /// Each has a thread, and the race has one.
    Race,
    /// One thread calls all plugins, as recorded.
    Replay,
}

/// One plugin.
#[derive(Clone, Copy, Debug)]
struct Contestant {
    state: SlotState,
    /// Failures since it last processed a message.
    failures: u32,
    /// The next instance replaces one that failed.
    is_restart: bool,
    /// It has left its race.
    has_left: bool,
}

/// A stage that hangs more often than this is not restarted, because each hang leaks a thread.
const MOST_HUNG: u32 = 32;

/// How soon to try again to create an instance while another thread creates or destroys one.
pub(crate) const DEFERRED: Duration = Duration::from_millis(5);

impl Supervisor {
    /// Handles an event at this time. Returns the actions to perform, in order.
    ///
    /// Any thread may report [`Event::Mode`], [`Event::Succeeded`], [`Event::Failed`], [`Event::LeftRace`] and
    /// [`Event::Removed`], which return at most a decision. Only the control thread reports the other events.
    pub(crate) fn handle(&mut self, event: Event, now: i64) -> Vec<Action> {
        self.now = self.now.max(now);
        let is_for_all = !matches!(
            event,
            Event::Mode(_)
                | Event::Succeeded(_)
                | Event::Failed { .. }
                | Event::LeftRace(_)
                | Event::Removed { .. }
        );
        match event {
            Event::Mode(mode) => self.mode = self.mode.max(mode),
            Event::Resumed(stages) => self.resume(stages),
            Event::Created(slot) => self.created(slot),
            Event::Refused(slot, problem) => self.refused(slot, problem),
            Event::Deferred(slot) => {
                if self.state(slot) == Some(SlotState::Creating) {
                    let until = self.after(DEFERRED);
                    self.set(slot, SlotState::Backoff { until });
                }
            }
            Event::Destroyed(slot) => self.destroyed(slot),
            Event::Succeeded(slot) => {
                if let Some(contestant) = self.contestant(slot) {
                    contestant.failures = 0;
                }
            }
            Event::Failed { slot, is_alive } => {
                let decision = self.after_failure(slot, is_alive);
                self.actions.push(Action::Decide(decision));
            }
            Event::Hung {
                slot,
                was_stopped,
                is_final,
                can_create,
                problem,
            } => self.hung(slot, (was_stopped, is_final, can_create), problem),
            Event::Ended(slot, exit) => self.ended(slot, exit),
            Event::RaceEnded { stage, to_pause } => {
                let pausing = self.is_asked_to_pause(stage);
                if let Some(stage) = self.stages.get_mut(stage) {
                    stage.races = false;
                    stage.is_paused |= to_pause && pausing;
                }
            }
            Event::LeftRace(slot) => self.left_race(slot),
            Event::Removed { stage } => self.removed(stage),
            Event::Pause { stages, patience } => self.start_pause(stages, patience),
            Event::Reopened { stage, is_open } => self.reopened(stage, is_open),
            Event::RequesterGone(problem) => self.requester_gone(problem),
            Event::Tick => {}
            Event::Over => self.destroy_finished(),
        }
        if is_for_all {
            self.create_due();
            self.advance_pause();
        }
        std::mem::take(&mut self.actions)
    }

    /// The time of the next tick, if no other event comes before.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        let waits = |stage: &SupervisedStage| {
            let backoff = |contestant: &Contestant| match contestant.state {
                SlotState::Backoff { until } => Some(until),
                _ => None,
            };
            let waiting = !stage.is_gated || stage.races;
            let next = stage.slots.iter().filter_map(backoff).min();
            next.filter(|_| waiting)
        };
        let created = self.stages.iter().filter_map(waits).min();
        let paused = self.pause.as_ref().and_then(|pause| pause.deadline());
        created.into_iter().chain(paused).min()
    }

    /// Whether the run is over: nothing runs and nothing is to be started.
    pub(crate) fn is_over(&self) -> bool {
        self.pause.is_none() && self.stages.iter().all(|stage| !stage.is_busy(true))
    }

    /// The state of a slot.
    pub(crate) fn state(&self, slot: Slot) -> Option<SlotState> {
        let stage = self.stages.get(slot.stage)?;
        Some(stage.slots.get(slot.contestant)?.state)
    }

    fn contestant(&mut self, slot: Slot) -> Option<&mut Contestant> {
        self.stages
            .get_mut(slot.stage)?
            .slots
            .get_mut(slot.contestant)
    }

    fn set(&mut self, slot: Slot, state: SlotState) {
        if let Some(contestant) = self.contestant(slot) {
            contestant.state = state;
        }
    }

    fn after(&self, time: Duration) -> i64 {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        self.now.saturating_add(time)
    }

    /// Whether a stage has to end after the current call.
    fn must_end(&self, stage: &SupervisedStage) -> bool {
        self.mode >= Mode::Drop || self.mode == Mode::Drain && stage.is_source
    }

    fn stage_must_end(&self, stage: usize) -> bool {
        let stage = self.stages.get(stage);
        stage.is_none_or(|stage| self.must_end(stage))
    }

    /// Counts a failure, and decides what to do.
    fn after_failure(&mut self, slot: Slot, is_alive: bool) -> Decision {
        let must_end = self.stage_must_end(slot.stage);
        let Some(contestant) = self.contestant(slot) else {
            return Decision::End;
        };
        contestant.failures = contestant.failures.saturating_add(1);
        let failures = contestant.failures;
        if must_end && !is_alive {
            // It needs no replacement, and the run does not fail.
            return Decision::Restart(Duration::ZERO);
        }
        let policy = &self.stages[slot.stage].policy;
        policy.after_failure(failures, is_alive)
    }

    fn created(&mut self, slot: Slot) {
        if self.state(slot) != Some(SlotState::Creating) {
            return;
        }
        let stage = &mut self.stages[slot.stage];
        let running = stage.running();
        if stage.threads != ThreadModel::Replay {
            stage.slots[slot.contestant].state = running;
            let is_restart = true;
            self.actions.push(Action::Start { slot, is_restart });
            return;
        }
        stage.slots[slot.contestant].state = SlotState::Paused { is_there: true };
        let is_there = |it: &Contestant| it.state == SlotState::Paused { is_there: true };
        if stage.slots.iter().all(is_there) {
            let restarted = stage.slots.iter().map(|it| it.is_restart).collect();
            for contestant in &mut stage.slots {
                contestant.state = running;
                contestant.is_restart = false;
            }
            self.actions.push(Action::StartReplay {
                stage: slot.stage,
                restarted: Some(restarted),
            });
        }
    }

    fn refused(&mut self, slot: Slot, problem: Problem) {
        if self.state(slot) != Some(SlotState::Creating) {
            return;
        }
        if self.stage_must_end(slot.stage) {
            return self.set_gone(slot);
        }
        let stage = &mut self.stages[slot.stage];
        let contestant = &mut stage.slots[slot.contestant];
        contestant.failures = contestant.failures.saturating_add(1);
        if let Some(after) = stage.policy.after_refusal(contestant.failures) {
            let is_race = stage.threads == ThreadModel::Race;
            self.actions.push(Action::Report(problem));
            let until = self.after(after);
            if is_race {
                let returns = true;
                self.actions.push(Action::NotifyRace { slot, returns });
            }
            return self.set(slot, SlotState::Backoff { until });
        }
        let races = stage.threads == ThreadModel::Race;
        self.set_gone(slot);
        self.actions.push(match races {
            true => Action::Report(problem),
            false => Action::Fail(problem),
        });
    }

    /// Marks a slot whose failed plugin is not replaced.
    fn set_gone(&mut self, slot: Slot) {
        self.set(slot, SlotState::Gone);
        let stage = &mut self.stages[slot.stage];
        if stage.threads == ThreadModel::Race {
            let returns = false;
            return self.actions.push(Action::NotifyRace { slot, returns });
        }
        // Plugins that waited for it, on the same thread, are not needed any more.
        for contestant in &mut stage.slots {
            match contestant.state {
                SlotState::Paused { is_there: true } => contestant.state = SlotState::Finished,
                SlotState::Paused { is_there: false } | SlotState::Backoff { .. } => {
                    contestant.state = SlotState::Gone;
                }
                _ => {}
            }
        }
        let stage = slot.stage;
        self.actions.push(Action::Close { stage });
    }

    fn destroyed(&mut self, slot: Slot) {
        if let Some(SlotState::Destroying { restart }) = self.state(slot) {
            let next = restart.map_or(SlotState::Gone, |until| SlotState::Backoff { until });
            self.set(slot, next);
        }
    }

    fn hung(
        &mut self,
        slot: Slot,
        (was_stopped, is_final, can_create): (bool, bool, bool),
        problem: Problem,
    ) {
        if !matches!(
            self.state(slot),
            Some(SlotState::Running | SlotState::Draining)
        ) {
            return self.actions.push(Action::Report(problem));
        }
        let must_end = self.stage_must_end(slot.stage);
        let stage = &mut self.stages[slot.stage];
        let threads = stage.threads;
        let few = stage.hung < MOST_HUNG;
        stage.hung = stage.hung.saturating_add(1);
        let restart = match !must_end && few && !is_final {
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
        let stage = &mut self.stages[slot.stage];
        if threads == ThreadModel::Replay {
            // The abandoned thread called all of them.
            stage.slots.iter_mut().for_each(|it| it.state = state);
        }
        stage.slots[slot.contestant].state = state;
        let waits = stage.is_gated || !can_create || restart != Some(Duration::ZERO);
        if !is_race && restart.is_none() {
            let stage = slot.stage;
            self.actions.push(Action::Close { stage });
        }
        self.actions.push(match ends_run {
            true => Action::Fail(problem),
            false => Action::Report(problem),
        });
        // An instance that is replaced at once joins before the race checks for free contestants.
        if is_race && waits {
            let returns = restart.is_some();
            self.actions.push(Action::NotifyRace { slot, returns });
        }
    }

    fn ended(&mut self, slot: Slot, exit: Exit) {
        if !matches!(
            self.state(slot),
            Some(SlotState::Running | SlotState::Draining)
        ) {
            return;
        }
        let pausing = self.is_asked_to_pause(slot.stage);
        let stage = &mut self.stages[slot.stage];
        let is_removed = stage.is_removed;
        let pausing = pausing && !stage.slots[slot.contestant].has_left;
        let state = match exit {
            Exit::Restart(_) | Exit::Panicked => None,
            Exit::Waits => Some(SlotState::Paused { is_there: true }),
            Exit::Finished | Exit::Paused if pausing => {
                stage.is_paused |= exit == Exit::Paused;
                Some(SlotState::Paused { is_there: true })
            }
            Exit::Finished | Exit::Paused if is_removed => None,
            Exit::Finished | Exit::Paused => Some(SlotState::Finished),
        };
        if let Some(state) = state {
            return self.set(slot, state);
        }
        if exit == Exit::Panicked {
            return self.set(slot, SlotState::Abandoned);
        }
        let restart = match exit {
            Exit::Restart(after) => {
                stage.slots[slot.contestant].is_restart = true;
                Some(self.after(after))
            }
            _ => None,
        };
        self.set(slot, SlotState::Destroying { restart });
        self.actions.push(Action::Destroy(slot));
    }

    fn left_race(&mut self, slot: Slot) {
        // Its thread returns the instance when it ends.
        if let Some(contestant) = self.contestant(slot) {
            contestant.has_left = true;
        }
    }

    fn removed(&mut self, stage: usize) {
        let Some(stage) = self.stages.get_mut(stage) else {
            return;
        };
        stage.is_removed = true;
        for contestant in &mut stage.slots {
            if contestant.state == SlotState::Running {
                contestant.state = SlotState::Draining;
            }
        }
    }

    /// Destroys all finished instances, when the run is over.
    fn destroy_finished(&mut self) {
        for (index, stage) in self.stages.iter_mut().enumerate() {
            for (contestant, it) in stage.slots.iter_mut().enumerate() {
                if matches!(
                    it.state,
                    SlotState::Finished | SlotState::Paused { is_there: true }
                ) {
                    it.state = SlotState::Destroying { restart: None };
                    let slot = Slot {
                        stage: index,
                        contestant,
                    };
                    self.actions.push(Action::Destroy(slot));
                }
            }
        }
    }

    /// Creates the instances whose backoff has elapsed.
    fn create_due(&mut self) {
        for index in 0..self.stages.len() {
            for contestant in 0..self.stages[index].slots.len() {
                let slot = Slot {
                    stage: index,
                    contestant,
                };
                if let Some(SlotState::Backoff { until }) = self.state(slot) {
                    self.create_if_due(slot, until);
                }
            }
        }
    }

    fn create_if_due(&mut self, slot: Slot, until: i64) {
        let stage = &self.stages[slot.stage];
        let is_race = stage.threads == ThreadModel::Race;
        let race_is_over = is_race && !stage.races;
        // A race without instances has to end before it can pause.
        let pauses = stage.is_gated && (!is_race || race_is_over);
        if pauses {
            return;
        }
        let must_end = self.must_end(stage);
        // No backoff at the end of a run.
        let is_time = self.mode > Mode::Run || race_is_over || until <= self.now;
        if !is_time && !self.hurries(slot) {
            return;
        }
        if must_end || race_is_over {
            return self.set_gone(slot);
        }
        self.set(slot, SlotState::Creating);
        self.actions.push(Action::Create(slot));
    }
}

impl SupervisedStage {
    /// The state of a plugin that has a thread.
    fn running(&self) -> SlotState {
        match self.is_removed {
            true => SlotState::Draining,
            false => SlotState::Running,
        }
    }

    /// Whether a plugin of it runs, is being created or destroyed, or, with `waits`, is to be.
    fn is_busy(&self, waits: bool) -> bool {
        let is_busy = |contestant: &Contestant| match contestant.state {
            SlotState::Creating | SlotState::Running | SlotState::Draining => true,
            SlotState::Destroying { restart } => restart.is_some() || !waits,
            SlotState::Backoff { .. } => waits,
            SlotState::Paused { .. }
            | SlotState::Finished
            | SlotState::Gone
            | SlotState::Abandoned => false,
        };
        self.races || self.slots.iter().any(is_busy)
    }
}
