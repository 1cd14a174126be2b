//! The life of every plugin of a run, as one state machine without threads, clocks and I/O.
//!
//! [`Supervisor::handle`] takes what happened and the time of the run's clock, and returns what is to be done. The
//! control thread does it ([`crate::run::control`]); a worker asks for itself alone whether it continues after a
//! failure. What the pipeline says about failures is the [`policy`], and changes of a running pipeline are in
//! [`pause`].
//!
//! # A slot
//!
//! Each plugin of each stage has a [`Slot`]: a place for one instance after the other. Its [`State`] changes as this
//! table says. Every instance that was created is destroyed once or abandoned once.
//!
//! | state | what happens | next state | what is to be done |
//! |---|---|---|---|
//! | any | the pipeline starts or continues with an instance | Running | start its thread |
//! | any | the pipeline starts or continues without one | Backoff | |
//! | Creating | it was created | Running | start its thread |
//! | Creating | it was created, and others of its thread were not yet (a replay) | Paused | |
//! | Creating | it was refused, and the policy restarts it | Backoff | report |
//! | Creating | it was refused | Gone | report; close the stage, or tell the race |
//! | Creating | plugins can't be called just now | Backoff, for 5 ms | |
//! | Running | it failed, and the policy restarts it: its thread ends | Destroying | destroy it |
//! | Running | its thread ends, because another plugin of it is restarted (a replay) | Paused | |
//! | Running | its thread ends, to pause | Paused | |
//! | Running | its thread ends with the stream | Finished | |
//! | Running | its stage was taken out of the pipeline | Draining | |
//! | Running | it hangs, and the policy restarts it: instance and thread are abandoned | Backoff | report |
//! | Running | it hangs: instance and thread are abandoned | Abandoned | report; close the stage, or tell the race |
//! | Running | its thread panics, a fault of this program | Abandoned | |
//! | Draining | its thread ends with the stream | Destroying | destroy it |
//! | Draining | what else happens | as Running | as Running |
//! | Destroying | it is destroyed, and is to be restarted | Backoff | |
//! | Destroying | it is destroyed | Gone | |
//! | Backoff | it is time, and the stage has to end or its race is over | Gone | close the stage, or tell the race |
//! | Backoff | it is time, or the run is ending | Creating | create it |
//! | Backoff | its stage pauses | Paused, without an instance | |
//! | Paused | all pause: they belong to whoever asked | Paused | |
//! | Paused | the stage had ended before it could pause | Finished | |
//! | Finished | the run is over | Destroying | destroy it |
//!
//! A stage whose gate is closed, because it is to pause, starts nothing; but a race of which nobody is there has to end
//! before it can pause.

mod event;
mod pause;
mod policy;
#[cfg(test)]
mod tests;
pub(crate) mod watchdog;

use std::time::Duration;

use crate::problem::Problem;
use crate::run::shared::Mode;

pub(crate) use event::{Action, Event, Exit, Slot, State};
use pause::Pause;
pub(crate) use pause::{Answer, Refusal, Resumed, Settings};
pub(crate) use policy::{Policy, Verdict};

/// The state of all plugins of a run.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    mode: Mode,
    stages: Vec<Stage>,
    pause: Option<Pause>,
    now: i64,
    actions: Vec<Action>,
}

/// One stage.
#[derive(Debug)]
struct Stage {
    policy: Policy,
    is_source: bool,
    /// How its plugins are called.
    threads: Threads,
    slots: Vec<Contestant>,
    /// The thread of its race has not ended.
    races: bool,
    /// Its gate is closed.
    is_gated: bool,
    /// Its thread has ended to pause.
    is_paused: bool,
    is_removed: bool,
    hung: u32,
}

/// How the plugins of a stage are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// It has one plugin, with a thread.
    One,
    /// Each has a thread, and the race has one.
    Race,
    /// One thread calls all, as a recording says.
    Replay,
}

/// One plugin.
#[derive(Clone, Copy, Debug)]
struct Contestant {
    state: State,
    /// Failures since it last processed a message.
    failures: u32,
    /// The next instance takes the place of one that failed.
    is_restart: bool,
    /// It does not take part in its race any more.
    has_left: bool,
}

/// A stage that hangs more often than this is not restarted: each time leaves a thread behind.
const MOST_HUNG: u32 = 32;

/// How soon to try again to create an instance while another thread creates or destroys one.
pub(crate) const DEFERRED: Duration = Duration::from_millis(5);

impl Supervisor {
    /// Takes what happened at this time, and returns what is to be done, in this order.
    ///
    /// Any thread reports how far the run is, what a call of its plugin came to, and what leaves the race or the
    /// pipeline: all that is returned then is the decision after a failure. The rest is the control thread's.
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
                if self.state(slot) == Some(State::Creating) {
                    let until = self.after(DEFERRED);
                    self.set(slot, State::Backoff { until });
                }
            }
            Event::Destroyed(slot) => self.destroyed(slot),
            Event::Succeeded(slot) => {
                if let Some(contestant) = self.contestant(slot) {
                    contestant.failures = 0;
                }
            }
            Event::Failed { slot, is_alive } => {
                let verdict = self.after_failure(slot, is_alive);
                self.actions.push(Action::Decide(verdict));
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
            Event::Pause { stages, patience } => self.begin_to_pause(stages, patience),
            Event::Reopened { stage, is_open } => self.reopened(stage, is_open),
            Event::AskerGone(problem) => self.asker_gone(problem),
            Event::Tick => {}
            Event::Over => self.destroy_finished(),
        }
        if is_for_all {
            self.create_what_is_due();
            self.go_on_pausing();
        }
        std::mem::take(&mut self.actions)
    }

    /// When a tick is needed at the latest, if nothing else happens before.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        let waits = |stage: &Stage| {
            let backoff = |contestant: &Contestant| match contestant.state {
                State::Backoff { until } => Some(until),
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

    /// Whether nothing runs and nothing is to be started: the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.pause.is_none() && self.stages.iter().all(|stage| !stage.is_busy(true))
    }

    /// Where a plugin is in its life.
    pub(crate) fn state(&self, slot: Slot) -> Option<State> {
        let stage = self.stages.get(slot.stage)?;
        Some(stage.slots.get(slot.contestant)?.state)
    }

    fn contestant(&mut self, slot: Slot) -> Option<&mut Contestant> {
        self.stages
            .get_mut(slot.stage)?
            .slots
            .get_mut(slot.contestant)
    }

    fn set(&mut self, slot: Slot, state: State) {
        if let Some(contestant) = self.contestant(slot) {
            contestant.state = state;
        }
    }

    fn after(&self, time: Duration) -> i64 {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        self.now.saturating_add(time)
    }

    /// Whether a source has to end, or any stage after the message in hand.
    fn must_end(&self, stage: &Stage) -> bool {
        self.mode >= Mode::Drop || self.mode == Mode::Drain && stage.is_source
    }

    fn stage_must_end(&self, stage: usize) -> bool {
        let stage = self.stages.get(stage);
        stage.is_none_or(|stage| self.must_end(stage))
    }

    /// Counts a failure, and decides what follows.
    fn after_failure(&mut self, slot: Slot, is_alive: bool) -> Verdict {
        let must_end = self.stage_must_end(slot.stage);
        let Some(contestant) = self.contestant(slot) else {
            return Verdict::End;
        };
        contestant.failures = contestant.failures.saturating_add(1);
        let failures = contestant.failures;
        if must_end && !is_alive {
            // Nothing is needed in its place, and that is no reason to fail.
            return Verdict::Restart(Duration::ZERO);
        }
        let policy = &self.stages[slot.stage].policy;
        policy.after_failure(failures, is_alive)
    }

    fn created(&mut self, slot: Slot) {
        if self.state(slot) != Some(State::Creating) {
            return;
        }
        let stage = &mut self.stages[slot.stage];
        let running = stage.running();
        if stage.threads != Threads::Replay {
            stage.slots[slot.contestant].state = running;
            let is_restart = true;
            self.actions.push(Action::Start { slot, is_restart });
            return;
        }
        stage.slots[slot.contestant].state = State::Paused { is_there: true };
        let is_there = |it: &Contestant| it.state == State::Paused { is_there: true };
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
        if self.state(slot) != Some(State::Creating) {
            return;
        }
        if self.stage_must_end(slot.stage) {
            return self.leave_empty(slot);
        }
        let stage = &mut self.stages[slot.stage];
        let contestant = &mut stage.slots[slot.contestant];
        contestant.failures = contestant.failures.saturating_add(1);
        if let Some(after) = stage.policy.after_refusal(contestant.failures) {
            let is_race = stage.threads == Threads::Race;
            self.actions.push(Action::Report(problem));
            let until = self.after(after);
            if is_race {
                let returns = true;
                self.actions.push(Action::TellRace { slot, returns });
            }
            return self.set(slot, State::Backoff { until });
        }
        let races = stage.threads == Threads::Race;
        self.leave_empty(slot);
        self.actions.push(match races {
            true => Action::Report(problem),
            false => Action::Fail(problem),
        });
    }

    /// Nothing takes the place of a plugin that has failed.
    fn leave_empty(&mut self, slot: Slot) {
        self.set(slot, State::Gone);
        let stage = &mut self.stages[slot.stage];
        if stage.threads == Threads::Race {
            let returns = false;
            return self.actions.push(Action::TellRace { slot, returns });
        }
        // What waited for it, on the same thread, is of no more use.
        for contestant in &mut stage.slots {
            match contestant.state {
                State::Paused { is_there: true } => contestant.state = State::Finished,
                State::Paused { is_there: false } | State::Backoff { .. } => {
                    contestant.state = State::Gone;
                }
                _ => {}
            }
        }
        let stage = slot.stage;
        self.actions.push(Action::Close { stage });
    }

    fn destroyed(&mut self, slot: Slot) {
        if let Some(State::Destroying { restart }) = self.state(slot) {
            let next = restart.map_or(State::Gone, |until| State::Backoff { until });
            self.set(slot, next);
        }
    }

    fn hung(
        &mut self,
        slot: Slot,
        (was_stopped, is_final, can_create): (bool, bool, bool),
        problem: Problem,
    ) {
        if !matches!(self.state(slot), Some(State::Running | State::Draining)) {
            return self.actions.push(Action::Report(problem));
        }
        let must_end = self.stage_must_end(slot.stage);
        let stage = &mut self.stages[slot.stage];
        let threads = stage.threads;
        let few = stage.hung < MOST_HUNG;
        stage.hung = stage.hung.saturating_add(1);
        let restart = match !must_end && few && !is_final {
            true => match self.after_failure(slot, false) {
                Verdict::Restart(after) => Some(after),
                Verdict::Continue | Verdict::End => None,
            },
            false => None,
        };
        let is_race = threads == Threads::Race;
        let ends_run = !is_race && restart.is_none() && !was_stopped && !must_end;
        let state = match restart {
            Some(after) => State::Backoff {
                until: self.after(after),
            },
            None => State::Abandoned,
        };
        let stage = &mut self.stages[slot.stage];
        if threads == Threads::Replay {
            // All were called by the thread that is left behind.
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
        // What is replaced at once is there before the race looks who is free.
        if is_race && waits {
            let returns = restart.is_some();
            self.actions.push(Action::TellRace { slot, returns });
        }
    }

    fn ended(&mut self, slot: Slot, exit: Exit) {
        if !matches!(self.state(slot), Some(State::Running | State::Draining)) {
            return;
        }
        let pausing = self.is_asked_to_pause(slot.stage);
        let stage = &mut self.stages[slot.stage];
        let is_removed = stage.is_removed;
        let pausing = pausing && !stage.slots[slot.contestant].has_left;
        let state = match exit {
            Exit::Restart(_) | Exit::Panicked => None,
            Exit::Waits => Some(State::Paused { is_there: true }),
            Exit::Finished | Exit::Paused if pausing => {
                stage.is_paused |= exit == Exit::Paused;
                Some(State::Paused { is_there: true })
            }
            Exit::Finished | Exit::Paused if is_removed => None,
            Exit::Finished | Exit::Paused => Some(State::Finished),
        };
        if let Some(state) = state {
            return self.set(slot, state);
        }
        if exit == Exit::Panicked {
            return self.set(slot, State::Abandoned);
        }
        let restart = match exit {
            Exit::Restart(after) => {
                stage.slots[slot.contestant].is_restart = true;
                Some(self.after(after))
            }
            _ => None,
        };
        self.set(slot, State::Destroying { restart });
        self.actions.push(Action::Destroy(slot));
    }

    fn left_race(&mut self, slot: Slot) {
        // Its thread hands back the instance when it ends.
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
            if contestant.state == State::Running {
                contestant.state = State::Draining;
            }
        }
    }

    /// Nothing runs any more.
    fn destroy_finished(&mut self) {
        for (index, stage) in self.stages.iter_mut().enumerate() {
            for (contestant, it) in stage.slots.iter_mut().enumerate() {
                if matches!(it.state, State::Finished | State::Paused { is_there: true }) {
                    it.state = State::Destroying { restart: None };
                    let slot = Slot {
                        stage: index,
                        contestant,
                    };
                    self.actions.push(Action::Destroy(slot));
                }
            }
        }
    }

    /// Creates what has waited for its time.
    fn create_what_is_due(&mut self) {
        for index in 0..self.stages.len() {
            for contestant in 0..self.stages[index].slots.len() {
                let slot = Slot {
                    stage: index,
                    contestant,
                };
                if let Some(State::Backoff { until }) = self.state(slot) {
                    self.create_if_due(slot, until);
                }
            }
        }
    }

    fn create_if_due(&mut self, slot: Slot, until: i64) {
        let stage = &self.stages[slot.stage];
        let is_race = stage.threads == Threads::Race;
        let race_is_over = is_race && !stage.races;
        // A race of which nobody is there has to end before it can pause.
        let pauses = stage.is_gated && (!is_race || race_is_over);
        if pauses {
            return;
        }
        let must_end = self.must_end(stage);
        // At the end of a run nothing waits.
        let is_time = self.mode > Mode::Run || race_is_over || until <= self.now;
        if !is_time && !self.hurries(slot) {
            return;
        }
        if must_end || race_is_over {
            return self.leave_empty(slot);
        }
        self.set(slot, State::Creating);
        self.actions.push(Action::Create(slot));
    }
}

impl Stage {
    /// The state of a plugin that has a thread.
    fn running(&self) -> State {
        match self.is_removed {
            true => State::Draining,
            false => State::Running,
        }
    }

    /// Whether something works in it, or is being created or destroyed. `waits`: also whether it is to be.
    fn is_busy(&self, waits: bool) -> bool {
        let is_busy = |contestant: &Contestant| match contestant.state {
            State::Creating | State::Running | State::Draining => true,
            State::Destroying { restart } => restart.is_some() || !waits,
            State::Backoff { .. } => waits,
            State::Paused { .. } | State::Finished | State::Gone | State::Abandoned => false,
        };
        self.races || self.slots.iter().any(is_busy)
    }
}
