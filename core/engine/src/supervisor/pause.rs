//! Pauses stages one after the other, to change a running pipeline. The requester owns their instances until they
//! resume.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::event::{Action, Answer, Refusal, Slot, SlotState, ThreadModel};
use crate::supervisor::slots::Slots;
use crate::supervisor::stage::GateState;
use crate::supervisor::transitions::Cause;
use crate::supervisor::watchdog::ABORT_GRACE;

/// A pause in progress.
#[derive(Debug)]
pub(super) struct Pause {
    stages: Vec<usize>,
    /// The stages that are not paused yet. The first one's gate is closed.
    remaining: VecDeque<usize>,
    /// When the first of `remaining` has to be paused.
    deadline: i64,
    patience: Duration,
    /// All stages are paused, and the requester owns their instances.
    is_answered: bool,
    /// Plugins that were created before their backoff elapsed.
    hurried: BTreeSet<Slot>,
    /// Why the pause is refused, if it is.
    refused: Option<Refusal>,
    /// The workers of the stage whose gate was reopened that are pausing already. `None`: not known yet.
    pausing: Option<Vec<usize>>,
    /// When the stages of an aborted run are ended without waiting for the requester.
    abandoned_at: Option<i64>,
}

/// The methods that take `self` return the pause unless it is over.
impl Pause {
    /// Starts a pause. There is one at a time.
    pub(super) fn start(stages: Vec<usize>, patience: Duration, slots: &mut Slots) -> Self {
        let mut pause = Self {
            remaining: stages.iter().copied().collect(),
            stages,
            deadline: slots.after(patience),
            patience,
            is_answered: false,
            hurried: BTreeSet::new(),
            refused: None,
            pausing: None,
            abandoned_at: None,
        };
        pause.close_next_gate(slots);
        pause
    }

    pub(super) fn deadline(&self) -> Option<i64> {
        match self.is_answered {
            true => self.abandoned_at,
            false if self.refused.is_some() => None,
            false => Some(self.deadline),
        }
    }

    /// Whether a stage is to pause, and the requester does not own it yet.
    pub(super) fn awaits(&self, stage: usize) -> bool {
        !self.is_answered && self.stages.contains(&stage)
    }

    /// Whether a plugin skips its backoff, which it may do once per pause. A pausing stage may wait for room in the
    /// queue of a stage that has no instance.
    pub(super) fn hurries(&mut self, slot: Slot) -> bool {
        !self.is_answered && self.hurried.insert(slot)
    }

    /// Ends it: the stages that were to pause.
    pub(super) fn into_stages(self) -> Vec<usize> {
        self.stages
    }

    fn close_next_gate(&mut self, slots: &mut Slots) {
        if let Some(&stage) = self.remaining.front() {
            slots.set_gate(stage, GateState::Closed);
            slots.actions.push(Action::CloseGate { stage });
            self.deadline = slots.after(self.patience);
        }
    }

    /// Advances the pause as far as the stages allow.
    pub(super) fn advance(mut self, slots: &mut Slots) -> Option<Self> {
        if self.is_answered {
            return self.abandon_when_aborted(slots);
        }
        while self.refused.is_none() {
            if slots.end.mode > Mode::Run {
                return self.start_refusal(Refusal::Ending, slots);
            }
            let Some(&stage) = self.remaining.front() else {
                self.answer(slots);
                return Some(self);
            };
            if slots.stages.get(stage).is_some_and(|it| it.is_busy(false)) {
                return match self.deadline <= slots.now {
                    true => self.start_refusal(Refusal::Busy { stage }, slots),
                    false => Some(self),
                };
            }
            empty_backoffs(stage, slots);
            if destroy_finished(stage, slots) {
                return Some(self);
            }
            self.remaining.pop_front();
            self.close_next_gate(slots);
        }
        self.refuse_when_quiet(slots)
    }

    /// Answers that all stages are paused.
    fn answer(&mut self, slots: &mut Slots) {
        self.is_answered = true;
        slots.cause = Cause::PauseAnswered;
        let mut answer = Vec::new();
        for &stage in &self.stages {
            let is_paused = settle(stage, slots);
            answer.push((stage, is_paused.then(|| present(stage, slots))));
        }
        let answer = Answer::Paused { stages: answer };
        slots.actions.push(Action::Answer(answer));
    }

    /// Starts to refuse the pause. Waits for the workers of the stage whose gate is closed that are pausing already.
    fn start_refusal(mut self, why: Refusal, slots: &mut Slots) -> Option<Self> {
        self.refused = Some(why);
        let Some(&stage) = self.remaining.front() else {
            return self.refuse(slots);
        };
        slots.actions.push(Action::ReopenGate { stage });
        Some(self)
    }

    /// Handles the result of [`Action::ReopenGate`].
    pub(super) fn reopened(
        mut self,
        stage: usize,
        pausing: Vec<usize>,
        slots: &mut Slots,
    ) -> Option<Self> {
        if self.refused.is_none() || self.remaining.front() != Some(&stage) {
            return Some(self);
        }
        // Their threads are ending: `refuse_when_quiet` refuses after that.
        self.pausing = Some(pausing);
        self.refuse_when_quiet(slots)
    }

    fn refuse_when_quiet(self, slots: &mut Slots) -> Option<Self> {
        let stage = self.remaining.front();
        let Some(stage) = stage.and_then(|&stage| slots.stages.get(stage)) else {
            return self.refuse(slots);
        };
        let is_busy = |&worker: &usize| stage.is_worker_busy(worker, false);
        let pausing = self.pausing.as_ref();
        match pausing.is_some_and(|pausing| !pausing.iter().any(is_busy)) {
            true => self.refuse(slots),
            false => Some(self),
        }
    }

    /// Refuses the pause: all stages resume unchanged.
    fn refuse(self, slots: &mut Slots) -> Option<Self> {
        slots.cause = Cause::PauseRefused;
        let stages = self.stages.iter().copied();
        let paused: Vec<_> = stages.filter(|&stage| settle(stage, slots)).collect();
        for &stage in &self.stages {
            slots.set_gate(stage, GateState::Open);
            slots.actions.push(Action::OpenGate { stage });
        }
        for stage in paused {
            let present = present(stage, slots);
            slots.start_stage(stage, &present, Vec::new());
        }
        let refused = self.refused.map(Answer::Refused);
        slots.actions.extend(refused.map(Action::Answer));
        None
    }

    /// Handles that the requester has panicked: its instances are lost.
    pub(super) fn lose_requester(self, problem: Option<Problem>, slots: &mut Slots) {
        slots.actions.extend(problem.map(Action::Fail));
        end_paused(self.is_answered, slots);
    }

    /// Ends the pause some time after an abort: a plugin may hang while it saves or loads its state.
    fn abandon_when_aborted(mut self, slots: &mut Slots) -> Option<Self> {
        if slots.end.mode < Mode::Abort {
            return Some(self);
        }
        let at = slots.after(ABORT_GRACE);
        if *self.abandoned_at.get_or_insert(at) > slots.now {
            return Some(self);
        }
        end_paused(true, slots);
        None
    }
}

/// Destroys the plugins of a paused stage that have no more output, and those of workers that have ended: the stage may
/// get others. Returns whether there were any.
fn destroy_finished(stage: usize, slots: &mut Slots) -> bool {
    slots.cause = Cause::PauseAdvances;
    let paused = slots.stages.get(stage);
    let Some(paused) = paused.filter(|it| it.gate == GateState::Paused) else {
        return false;
    };
    let over: Vec<_> = paused.workers.iter().map(|it| it.is_over).collect();
    slots.set_all(stage, |slot, state| match state {
        SlotState::Paused { is_there: true } if over[slot.worker] => Some(SlotState::Finished),
        _ => None,
    });
    let finished = slots.stages[stage].slots_in(stage, |state| state == SlotState::Finished);
    for &slot in &finished {
        slots.destroy(slot, None);
    }
    !finished.is_empty()
}

/// Pauses the plugins that are in backoff. They are created when the stage resumes.
fn empty_backoffs(stage: usize, slots: &mut Slots) {
    slots.cause = Cause::PauseAdvances;
    let Some(it) = slots.stages.get_mut(stage) else {
        return;
    };
    let waiting = it.slots_in(stage, |state| matches!(state, SlotState::Backoff { .. }));
    if it.settings.threads != ThreadModel::Race && !waiting.is_empty() {
        // It has no thread that could report the pause.
        it.note_paused();
    }
    slots.set_all(stage, |_, state| match state {
        SlotState::Backoff { .. } => Some(SlotState::Paused { is_there: false }),
        _ => None,
    });
}

/// Returns whether a stage is paused. If not, it has ended, and its plugins are finished. Those of a worker that has
/// ended are finished in any case.
fn settle(stage: usize, slots: &mut Slots) -> bool {
    let Some(it) = slots.stages.get(stage) else {
        return false;
    };
    let is_paused = it.gate == GateState::Paused;
    let resumes: Vec<_> = it
        .workers
        .iter()
        .map(|it| is_paused && !it.is_over)
        .collect();
    slots.set_all(stage, |slot, state| match state {
        _ if resumes[slot.worker] => None,
        SlotState::Paused { is_there: true } => Some(SlotState::Finished),
        SlotState::Paused { is_there: false } => Some(SlotState::Gone),
        _ => None,
    });
    is_paused
}

/// The slots of a paused stage that have an instance.
fn present(stage: usize, slots: &Slots) -> Vec<Slot> {
    let it = slots.stages.get(stage);
    let is_there = |state| state == SlotState::Paused { is_there: true };
    it.map(|it| it.slots_in(stage, is_there))
        .unwrap_or_default()
}

/// Ends all paused stages. `is_lent`: the requester owns their instances.
fn end_paused(is_lent: bool, slots: &mut Slots) {
    slots.cause = Cause::PauseLost;
    for stage in 0..slots.stages.len() {
        if !slots.stages[stage].is_gated() {
            continue;
        }
        let awaited = slots.stages[stage].slots_in(stage, |state| {
            use SlotState::{Backoff, Destroying};
            matches!(state, Backoff { .. } | Destroying { restart: Some(_) })
        });
        slots.set_all(stage, |_, state| match state {
            SlotState::Paused { is_there: true } if !is_lent => Some(SlotState::Finished),
            SlotState::Paused { .. } | SlotState::Backoff { .. } => Some(SlotState::Gone),
            SlotState::Destroying { .. } => Some(SlotState::Destroying { restart: None }),
            _ => None,
        });
        // A race that has not paused yet may wait for them.
        for slot in awaited {
            slots.notify_race(slot);
        }
        slots.set_gate(stage, GateState::Open);
        // A worker that runs, because the pause was being refused, leaves the inputs, which are taken from it.
        slots.actions.push(Action::CloseGate { stage });
        slots.actions.push(Action::Close { stage });
        slots.actions.push(Action::OpenGate { stage });
    }
}
