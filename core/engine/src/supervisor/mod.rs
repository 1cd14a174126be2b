//! The lifecycle of every plugin of a run, as one state machine without threads, clocks and I/O.
//!
//! [`Supervisor::handle`] takes an event and the time of the run's clock, and returns actions. The control thread
//! performs them ([`crate::run::control`]). A worker reports only its own failures, and is answered whether it
//! continues. The [`policy`] holds the pipeline's restart settings; changes of a running pipeline are in [`pause`].
//!
//! # A slot
//!
//! Each plugin of each worker of each stage has a [`Slot`], which holds at most one instance. Every instance that was
//! created is destroyed once or abandoned once. This table lists all transitions of its [`SlotState`]. A test compares it with the
//! data in [`transitions`], which debug builds assert. *Empty* is Paused without an instance, or, before the run starts,
//! with one that no thread has yet. *Restarting* is Destroying with a restart to follow. A stage's *gate* stops its
//! threads before the next message ([`crate::edge::gate`]). The *requester* of a pause owns the instances of the paused
//! stages until it resumes them ([`pause`]).
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
//! | Creating | CreateFailed | Backoff | the policy restarts it | report; notify the race |
//! | Creating | CreateFailed | Gone | the policy does not, or the stage has to end | report and end the run, unless the stage has to end; close the stage, or notify the race |
//! | Paused | CreateFailed | Finished | another plugin of its thread is Gone (a replay) | |
//! | Backoff | CreateFailed | Gone | the same | |
//! | Creating | Deferred | Backoff | for 5 ms: another thread creates or destroys a plugin | |
//! | Running | Ended | Paused | the stage pauses, or another plugin of its thread is restarted (a replay) | |
//! | Running | Ended | Finished | its stream has ended, or it failed and the policy ends the run | |
//! | Running | Ended | Restarting | it failed, and the policy restarts it, or its instance is lost while the stage has to end | destroy it |
//! | Running | Ended | Destroying | its stream has ended, and its stage is removed | destroy it |
//! | Running | Ended | Abandoned | its thread panicked, a bug in this program, or failed to start | notify the race |
//! | Running | Hung | Backoff | the policy restarts it. Instance and thread are abandoned, in a replay those of all plugins of the stage | report; notify the race, unless it is replaced at once |
//! | Running | Hung | Abandoned | the policy does not, the stage has to end, or it has hung too often | report; close the stage, or notify the race; end the run, if neither it races nor the stage has to end |
//! | Restarting | Destroyed | Backoff | | |
//! | Destroying | Destroyed | Gone | | |
//! | Backoff | Due | Creating | also before its time: at the end of the run, and once per pause | create it |
//! | Backoff | Due | Gone | the stage has to end, or its race is over | close the stage, or notify the race |
//! | Paused | Due | Finished | another plugin of its thread is Gone (a replay) | |
//! | Paused | PauseAdvances | Finished | its worker has ended, and others of its stage have more work | |
//! | Finished | PauseAdvances | Destroying | its stage pauses, and others of its stage have more work | destroy it |
//! | Backoff | PauseAdvances | Empty | its stage pauses | close the gate of the next stage |
//! | Paused | PauseAnswered | Finished | the stage, or its worker, had ended before it could pause | |
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
//! # Workers
//!
//! The workers of a stage take messages from the same queue. Each fails, hangs, is restarted and ends without the
//! others. The stage is closed when all have ended: by the thread of an only worker, else by [`Action::Close`]. A stage
//! is paused when none of its workers runs. Those that ended before are not resumed.
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
//! | Stop: the first request, a failure, or the end of another machine | Drain, or Drop as `on_stop` says |
//! | Stop: the second request, or a request to abort | Abort |
//! | Stop: a stage has done its task | Drop |
//! | Stop: a stage was stopped by a person or a safeguard | Abort |
//! | Hung, because a replayed call took too much memory: its thread goes on taking it | Abort |
//!
//! There is no state Draining of a slot. A stage drains its queue while it is Running, and the mode of the run, or its
//! removal, decides that its stream ends after that. Its slots need no other decision than those of a stage that runs.
//!
//! The mode never goes back. Calls that take too long are cancelled, reported, and killed or abandoned: see
//! [`watchdog`]. Time in which a plugin waits does not count for that. Once the run is to end, a wait has a limit of its
//! own ([`Options::last_wait`](crate::run::Options::last_wait)), which the thread that waits observes.

mod ending;
mod event;
mod pause;
mod policy;
mod race;
mod slots;
mod stage;
mod start;
#[cfg(test)]
mod tests;
mod transitions;
pub(crate) mod watchdog;

pub use event::Excess;
pub(crate) use event::{
    Action, Answer, CallProcess, Event, Exit, RaceResult, Refusal, Resumed, Settings, Slot,
    StopCause, ThreadModel, WorkerId,
};
use flowpipe_config::pipeline::OnStop;
use pause::Pause;
pub(crate) use policy::{Decision, Policy};
pub(crate) use slots::DEFERRED;
use slots::Slots;

/// The state of all plugins of a run.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    slots: Slots,
    pause: Option<Pause>,
}

impl Supervisor {
    /// Handles an event at this time. Returns the actions to perform, in order. For which thread may report which event,
    /// see [`Event::is_from_any_thread`].
    pub(crate) fn handle(&mut self, event: Event, now: i64) -> Vec<Action> {
        let is_for_all = !event.is_from_any_thread();
        self.slots.begin(&event, now);
        self.apply(event);
        if is_for_all {
            self.slots.create_due(self.pause.as_mut());
            self.change_pause(Pause::advance);
        }
        self.slots.take_actions()
    }

    fn apply(&mut self, event: Event) {
        let slots = &mut self.slots;
        let pause = self.pause.as_ref();
        let is_asked_to_pause = |stage| pause.is_some_and(|pause| pause.awaits(stage));
        match event {
            Event::Stop(cause) => slots.stop(cause),
            Event::OnStop(on_stop) => slots.end.set_on_stop(on_stop),
            Event::Resumed(stages) => {
                let paused = self.pause.take().map(Pause::into_stages);
                slots.resume(paused.unwrap_or_default(), stages);
            }
            Event::Created(slot) => slots.created(slot),
            Event::CreateFailed(slot, problem) => slots.create_failed(slot, problem),
            Event::Deferred(slot) => slots.deferred(slot),
            Event::Destroyed(slot) => slots.destroyed(slot),
            Event::Succeeded(slot) => slots.succeeded(slot),
            Event::Failed { slot, is_alive } => slots.failed(slot, is_alive),
            Event::Observed {
                slot,
                call,
                process,
            } => watchdog::observed(slots, slot, &call, process),
            Event::Hung {
                slot,
                was_stopped,
                excess,
                can_create,
                problem,
            } => slots.hung(slot, (was_stopped, excess, can_create), problem),
            Event::Ended(slot, exit) => slots.ended(slot, exit, is_asked_to_pause(slot.stage)),
            Event::ThreadsFailed { race, missing } => {
                race::ended(slots, race, false);
                for slot in missing {
                    slots.ended(slot, Exit::Panicked, false);
                }
            }
            Event::RaceMessage(race) => race::message(slots, race),
            Event::Joined(slot) => race::joined(slots, slot),
            Event::CallFinished { slot, is_over } => race::call_finished(slots, slot, is_over),
            Event::RaceConcluded { race, result } => race::concluded(slots, race, result),
            Event::RaceEnded { race, to_pause } => {
                let pauses = to_pause && is_asked_to_pause(race.stage);
                race::ended(slots, race, pauses);
            }
            Event::Removed { stage } => {
                if let Some(stage) = slots.stages.get_mut(stage) {
                    stage.is_removed = true;
                }
            }
            Event::Pause { stages, patience } => {
                self.pause = Some(Pause::start(stages, patience, slots));
            }
            Event::Reopened { stage, pausing } => {
                self.change_pause(|pause, slots| pause.reopened(stage, pausing, slots));
            }
            Event::RequesterGone(problem) => {
                if let Some(pause) = self.pause.take() {
                    pause.lose_requester(problem, slots);
                }
            }
            Event::Tick => {}
            Event::Over => slots.destroy_finished(),
        }
    }

    /// Changes the pause, if there is one. `change` returns it unless it is over.
    fn change_pause(&mut self, change: impl FnOnce(Pause, &mut Slots) -> Option<Pause>) {
        if let Some(pause) = self.pause.take() {
            self.pause = change(pause, &mut self.slots);
        }
    }

    /// The time of the next tick, if no other event comes before.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        let paused = self.pause.as_ref().and_then(Pause::deadline);
        self.slots.next_due().into_iter().chain(paused).min()
    }

    /// Whether the run is over: nothing runs and nothing is to be started.
    pub(crate) fn is_over(&self) -> bool {
        let stages = &self.slots.stages;
        self.pause.is_none() && stages.iter().all(|stage| !stage.is_busy(true))
    }

    /// Whether a user has asked for the end of the run.
    pub(crate) fn was_asked(&self) -> bool {
        self.slots.end.was_asked()
    }

    /// What a gentle stop does.
    pub(crate) fn on_stop(&self) -> OnStop {
        self.slots.end.on_stop()
    }
}
