//! The lifecycle of every plugin of a run, as one state machine without threads, clocks and I/O.
//!
//! [`Supervisor::handle`] takes an event and the time of the run's clock, and returns actions. The control thread
//! performs them ([`crate::run::control`]). A worker reports only its own failures, and is answered whether it
//! continues. The [`policy`] holds the pipeline's restart settings; changes of a running pipeline are in [`pause`].
//!
//! # A slot
//!
//! Each plugin of each stage has a [`Slot`], which holds at most one instance. Every instance that was created is
//! destroyed once or abandoned once. This table lists all transitions of its [`SlotState`]. A test compares it with the
//! data in [`transitions`], which debug builds assert. *Empty* is Paused without an instance, *Restarting* is Destroying
//! with a restart to follow.
//!
//! | state | event | next state | when | actions |
//! |---|---|---|---|---|
//! | Empty | Resumed | Running | its stage starts or resumes with an instance | start its thread |
//! | Empty | Resumed | Backoff | its stage starts or resumes without one | |
//! | Empty | Resumed | Gone | its stage does not resume | |
//! | Paused | Resumed | Running | the requester returns the instance | start its thread |
//! | Paused | Resumed | Backoff | the instance is lost | report |
//! | Paused | Resumed | Gone | its stage does not resume: it has ended, or is a removed source | |
//! | Backoff | Resumed | Gone | the instance was lost, and the policy does not restart it | report; close the stage and end the run, unless it races |
//! | Creating | Created | Running | | start its thread |
//! | Creating | Created | Paused | others of its thread are not created yet (a replay) | |
//! | Paused | Created | Running | the last one of its thread was created (a replay) | start the thread |
//! | Creating | Refused | Backoff | the policy restarts it | report; notify the race |
//! | Creating | Refused | Gone | the policy does not, or the stage has to end | report and end the run, unless the stage has to end; close the stage, or notify the race |
//! | Paused | Refused | Finished | another plugin of its thread is Gone (a replay) | |
//! | Backoff | Refused | Gone | the same | |
//! | Creating | Deferred | Backoff | for 5 ms: another thread calls plugins | |
//! | Running | Ended | Paused | the stage pauses, or another plugin of its thread is restarted (a replay) | |
//! | Running | Ended | Finished | its stream has ended | |
//! | Running | Ended | Restarting | it failed, and the policy restarts it | destroy it |
//! | Running | Ended | Destroying | its stream has ended, and its stage is removed | destroy it |
//! | Running | Ended | Abandoned | its thread panicked, a bug in this program | notify the race |
//! | Running | Hung | Backoff | the policy restarts it. Instance and thread are abandoned, in a replay those of all plugins of the stage | report; notify the race, unless it is replaced at once |
//! | Running | Hung | Abandoned | the policy does not, the stage has to end, or it has hung too often | report; close the stage, or notify the race; end the run, if neither it races nor the stage has to end |
//! | Restarting | Destroyed | Backoff | | |
//! | Destroying | Destroyed | Gone | | |
//! | Backoff | Due | Creating | also before its time: at the end of the run, and once per pause | create it |
//! | Backoff | Due | Gone | the stage has to end, or its race is over | close the stage, or notify the race |
//! | Paused | Due | Finished | another plugin of its thread is Gone (a replay) | |
//! | Finished | PauseAdvances | Destroying | its stage pauses, and others of its race have more output | destroy it |
//! | Backoff | PauseAdvances | Empty | its stage pauses | close the gate of the next stage |
//! | Paused | PauseAnswered | Finished | the stage had ended before it could pause | |
//! | Empty | PauseAnswered | Gone | the same | |
//! | Paused | PauseRefused | Running | a stage does not pause, or the run is ending | open the gate, start its thread |
//! | Empty | PauseRefused | Backoff | the same | open the gate |
//! | Paused | PauseRefused | Finished | the same, and its stage had ended | open the gate |
//! | Empty | PauseRefused | Gone | the same, and its stage had ended | open the gate |
//! | Paused | PauseLost | Finished | the requester panicked before the stages were paused | end the run; close the stage, open the gate |
//! | Paused | PauseLost | Gone | the requester owned the instance, and panicked or ignores the end of the run | the same |
//! | Empty | PauseLost | Gone | the same | the same |
//! | Backoff | PauseLost | Gone | the same | the same |
//! | Restarting | PauseLost | Destroying | the same | the same |
//! | Finished | Over | Destroying | | destroy it |
//! | Paused | Over | Destroying | | destroy it |
//!
//! A stage whose gate is closed starts nothing, with one exception: a race without instances has to end before it can
//! pause.
//!
//! # A race
//!
//! A contestant that is Running has an [`Activity`]:
//!
//! | activity | event | next activity |
//! |---|---|---|
//! | Joining | Joined | Idle |
//! | Idle | RaceMessage | Busy |
//! | Busy | CallFinished | Idle |
//! | Busy | CallFinished, and it has no more output | Left |
//! | any | Failed, and the policy restarts it | Restarting |
//! | any | Failed, it can't continue, and the policy does not restart it | Left |
//!
//! The race waits for contestants while there is none that is Idle, and one can become so. If there is none any more,
//! the stage ends; if contestants were lost, the run fails.
//!
//! # The run
//!
//! | event | mode |
//! |---|---|
//! | Stop: the first request, or a failure | Drain, or Drop as `on_stop` says |
//! | Stop: the second request, or a request to abort | Abort |
//! | Stop: a stage has done its task | Drop |
//! | Stop: a stage was stopped by a person or a safeguard | Abort |
//! | Hung, because a replayed call took too much memory: its thread goes on taking it | Abort |
//!
//! The mode never goes back. Calls that take too long are cancelled, reported, and killed or abandoned: see
//! [`watchdog`].

mod ending;
mod event;
mod pause;
mod policy;
mod race;
#[cfg(test)]
mod tests;
mod transitions;
pub(crate) mod watchdog;

use std::time::Duration;

use ending::RunEnd;
pub use event::Excess;
pub(crate) use event::{
    Action, Activity, Answer, CallProcess, Event, Exit, RaceResult, Refusal, Resumed, Settings,
    Slot, SlotState, StopCause, ThreadModel,
};
use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;
use pause::Pause;
pub(crate) use policy::{Decision, Policy};
use transitions::Cause;
use watchdog::Watchdog;

/// The state of all plugins of a run.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    end: RunEnd,
    stages: Vec<SupervisedStage>,
    pause: Option<Pause>,
    now: i64,
    /// Why slots change their state now.
    cause: Cause,
    actions: Vec<Action>,
    /// The transitions since the last event of a test.
    #[cfg(test)]
    log: std::collections::BTreeSet<transitions::Transition>,
}

/// One stage.
#[derive(Debug)]
struct SupervisedStage {
    settings: Settings,
    slots: Vec<Contestant>,
    /// The thread of its race has not ended.
    races: bool,
    gate: GateState,
    /// It was removed from the pipeline: it drains its queue.
    is_removed: bool,
    hung: u32,
}

/// The gate of a stage, which is closed while the stage is to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateState {
    Open,
    Closed,
    /// It is closed, and the stage has more work: it does not run because it pauses.
    Paused,
}

/// One plugin.
#[derive(Clone, Copy, Debug)]
struct Contestant {
    state: SlotState,
    /// Failures since it last processed a message.
    failures: u32,
    /// The next instance replaces one that failed.
    is_restart: bool,
    watchdog: Watchdog,
}

/// A stage that hangs more often than this is not restarted, because each hang leaks a thread.
const MOST_HUNG: u32 = 32;

/// How soon to try again to create an instance while another thread creates or destroys one.
pub(crate) const DEFERRED: Duration = Duration::from_millis(5);

impl Supervisor {
    /// Handles an event at this time. Returns the actions to perform, in order. For which thread may report which event,
    /// see [`Event::is_from_any_thread`].
    pub(crate) fn handle(&mut self, event: Event, now: i64) -> Vec<Action> {
        self.now = self.now.max(now);
        let is_for_all = !event.is_from_any_thread();
        self.cause = Cause::of(&event);
        match event {
            Event::Stop(cause) => self.stop(cause),
            Event::OnStop(on_stop) => self.set_on_stop(on_stop),
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
            Event::Failed { slot, is_alive } => self.failed(slot, is_alive),
            Event::Observed {
                slot,
                call,
                process,
            } => self.observed(slot, &call, process),
            Event::Hung {
                slot,
                was_stopped,
                excess,
                can_create,
                problem,
            } => self.hung(slot, (was_stopped, excess, can_create), problem),
            Event::Ended(slot, exit) => self.ended(slot, exit),
            Event::RaceMessage { stage } => self.race_message(stage),
            Event::Joined(slot) => self.joined(slot),
            Event::CallFinished { slot, is_over } => self.call_finished(slot, is_over),
            Event::RaceConcluded { stage, result } => self.race_concluded(stage, result),
            Event::RaceEnded { stage, to_pause } => self.race_ended(stage, to_pause),
            Event::Removed { stage } => {
                if let Some(stage) = self.stages.get_mut(stage) {
                    stage.is_removed = true;
                }
            }
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
            let waiting = !stage.is_gated() || stage.races;
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

    /// Changes the state of a slot, as the table allows.
    fn set(&mut self, slot: Slot, state: SlotState) {
        self.set_all(slot.stage, |contestant, _| {
            (contestant == slot.contestant).then_some(state)
        });
    }

    /// Changes the states of all slots of a stage. `None`: a state stays.
    fn set_all(&mut self, stage: usize, next: impl Fn(usize, SlotState) -> Option<SlotState>) {
        let cause = self.cause;
        let slots = self.stages.get_mut(stage).map(|it| &mut it.slots);
        for (index, contestant) in slots.into_iter().flatten().enumerate() {
            if let Some(state) = next(index, contestant.state) {
                #[cfg(test)]
                self.log
                    .insert(transitions::row(contestant.state, cause, state));
                contestant.set(state, cause);
            }
        }
    }

    fn after(&self, time: Duration) -> i64 {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        self.now.saturating_add(time)
    }

    fn failed(&mut self, slot: Slot, is_alive: bool) {
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
        let policy = &self.stages[slot.stage].settings.policy;
        policy.after_failure(failures, is_alive)
    }

    fn created(&mut self, slot: Slot) {
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
        let policy = &stage.settings.policy;
        if let Some(after) = policy.after_refusal(contestant.failures) {
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
        if self.stages[slot.stage].settings.threads == ThreadModel::Race {
            return self.actions.push(Action::NotifyRace(slot));
        }
        // Plugins of the same thread are not needed any more.
        self.set_all(slot.stage, |_, state| match state {
            SlotState::Paused { is_there: true } => Some(SlotState::Finished),
            SlotState::Backoff { .. } => Some(SlotState::Gone),
            _ => None,
        });
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
        (was_stopped, excess, can_create): (bool, Option<Excess>, bool),
        problem: Problem,
    ) {
        if !matches!(self.state(slot), Some(SlotState::Running(_))) {
            return self.actions.push(Action::Report(problem));
        }
        let was_stopped = was_stopped || excess.is_some();
        let must_end = self.stage_must_end(slot.stage);
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
            let stage = slot.stage;
            self.actions.push(Action::Close { stage });
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
            self.advance_mode(Mode::Abort);
        }
    }

    fn ended(&mut self, slot: Slot, exit: Exit) {
        let Some(SlotState::Running(activity)) = self.state(slot) else {
            return;
        };
        let pauses = self.is_asked_to_pause(slot.stage) && activity != Activity::Left;
        let stage = &mut self.stages[slot.stage];
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
                stage.slots[slot.contestant].is_restart = true;
                let restart = Some(self.after(after));
                self.destroy(slot, restart);
            }
            Exit::Panicked => {
                self.set(slot, SlotState::Abandoned);
                self.notify_race(slot);
            }
        }
    }

    fn destroy(&mut self, slot: Slot, restart: Option<i64>) {
        self.set(slot, SlotState::Destroying { restart });
        self.actions.push(Action::Destroy(slot));
    }

    /// Destroys all finished instances, when the run is over.
    fn destroy_finished(&mut self) {
        for stage in 0..self.stages.len() {
            for contestant in 0..self.stages[stage].slots.len() {
                let slot = Slot { stage, contestant };
                if let Some(SlotState::Finished | SlotState::Paused { is_there: true }) =
                    self.state(slot)
                {
                    self.destroy(slot, None);
                }
            }
        }
    }

    /// Creates the instances whose backoff has elapsed.
    fn create_due(&mut self) {
        self.cause = Cause::Due;
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
        let is_race = stage.settings.threads == ThreadModel::Race;
        let race_is_over = is_race && !stage.races;
        // A race without instances has to end before it can pause.
        let pauses = stage.is_gated() && (!is_race || race_is_over);
        if pauses {
            return;
        }
        let must_end = self.must_end(stage);
        // No backoff at the end of a run.
        let is_time = self.mode() > Mode::Run || race_is_over || until <= self.now;
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
    fn is_gated(&self) -> bool {
        self.gate != GateState::Open
    }

    /// Notes that it does not run because it pauses.
    fn note_paused(&mut self) {
        if self.gate == GateState::Closed {
            self.gate = GateState::Paused;
        }
    }

    /// The state of a plugin whose thread starts.
    fn started(&self) -> SlotState {
        SlotState::Running(match self.settings.threads {
            ThreadModel::Race => Activity::Joining,
            ThreadModel::One | ThreadModel::Replay => Activity::Idle,
        })
    }

    /// Whether a plugin of it runs, is being created or destroyed, or, with `waits`, is to be.
    fn is_busy(&self, waits: bool) -> bool {
        let is_busy = |contestant: &Contestant| match contestant.state {
            SlotState::Creating | SlotState::Running(_) => true,
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

impl Contestant {
    fn set(&mut self, state: SlotState, cause: Cause) {
        debug_assert!(
            transitions::is_listed(self.state, cause, state),
            "{:?} -> {state:?} by {cause:?} is not in the table",
            self.state
        );
        if let SlotState::Running(_) = state {
            // The calls of its thread are numbered from the start.
            self.watchdog = Watchdog::default();
        }
        self.state = state;
    }
}
