//! Pauses stages one after the other, to change a running pipeline. The requester owns their instances until they
//! resume.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::event::{
    Action, Answer, Refusal, Resumed, Settings, Slot, SlotState, ThreadModel,
};
use crate::supervisor::policy::Decision;
use crate::supervisor::transitions::Cause;
use crate::supervisor::watchdog::{ABORT_GRACE, Watchdog};
use crate::supervisor::{Contestant, GateState, SupervisedStage, Supervisor};

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
    /// When the stages of an aborted run are ended without waiting for the requester.
    abandoned_at: Option<i64>,
}

impl Pause {
    pub(super) fn deadline(&self) -> Option<i64> {
        match self.is_answered {
            true => self.abandoned_at,
            false if self.refused.is_some() => None,
            false => Some(self.deadline),
        }
    }
}

impl Supervisor {
    /// Whether a stage is to pause, and the requester does not own it yet.
    pub(super) fn is_asked_to_pause(&self, stage: usize) -> bool {
        let pause = self.pause.as_ref();
        pause.is_some_and(|pause| !pause.is_answered && pause.stages.contains(&stage))
    }

    /// Whether a plugin skips its backoff, which it may do once per pause. A pausing stage may wait for room in the
    /// queue of a stage that has no instance.
    pub(super) fn hurries(&mut self, slot: Slot) -> bool {
        let pause = self.pause.as_mut().filter(|pause| !pause.is_answered);
        pause.is_some_and(|pause| pause.hurried.insert(slot))
    }

    /// Starts a pause. There is one at a time.
    pub(super) fn start_pause(&mut self, stages: Vec<usize>, patience: Duration) {
        self.pause = Some(Pause {
            remaining: stages.iter().copied().collect(),
            stages,
            deadline: self.after(patience),
            patience,
            is_answered: false,
            hurried: BTreeSet::new(),
            refused: None,
            abandoned_at: None,
        });
        self.close_next_gate();
    }

    fn close_next_gate(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        let Some(&stage) = pause.remaining.front() else {
            return;
        };
        let patience = pause.patience;
        self.set_gate(stage, GateState::Closed);
        self.actions.push(Action::CloseGate { stage });
        let deadline = self.after(patience);
        if let Some(pause) = &mut self.pause {
            pause.deadline = deadline;
        }
    }

    fn set_gate(&mut self, stage: usize, gate: GateState) {
        if let Some(stage) = self.stages.get_mut(stage) {
            stage.gate = gate;
        }
    }

    /// Advances the pause as far as the stages allow.
    pub(super) fn advance_pause(&mut self) {
        while let Some(pause) = &self.pause {
            if pause.is_answered {
                return self.abandon_when_aborted();
            }
            if pause.refused.is_some() {
                return self.refuse_when_quiet();
            }
            if self.mode() > Mode::Run {
                return self.start_refusal(Refusal::Ending);
            }
            let Some(&stage) = pause.remaining.front() else {
                return self.answer();
            };
            if self.stages.get(stage).is_some_and(|it| it.is_busy(false)) {
                if pause.deadline <= self.now {
                    self.start_refusal(Refusal::Busy { stage });
                }
                return;
            }
            if self.destroy_finished_contestants(stage) {
                return;
            }
            self.empty_backoffs(stage);
            if let Some(pause) = &mut self.pause {
                pause.remaining.pop_front();
            }
            self.close_next_gate();
        }
    }

    /// Destroys the contestants of a paused race that have no more output: the stage may get other contestants. Returns
    /// whether there were any.
    fn destroy_finished_contestants(&mut self, stage: usize) -> bool {
        self.cause = Cause::PauseAdvances;
        let paused = self.stages.get(stage);
        let paused = paused.filter(|it| it.gate == GateState::Paused);
        let slots = paused
            .into_iter()
            .flat_map(|it| it.slots.iter().enumerate());
        let finished: Vec<_> = slots
            .filter(|(_, it)| it.state == SlotState::Finished)
            .map(|(contestant, _)| Slot { stage, contestant })
            .collect();
        for &slot in &finished {
            self.destroy(slot, None);
        }
        !finished.is_empty()
    }

    /// Pauses the plugins that are in backoff. They are created when the stage resumes.
    fn empty_backoffs(&mut self, stage: usize) {
        self.cause = Cause::PauseAdvances;
        let Some(it) = self.stages.get_mut(stage) else {
            return;
        };
        let waits = |it: &Contestant| matches!(it.state, SlotState::Backoff { .. });
        if it.settings.threads != ThreadModel::Race && it.slots.iter().any(waits) {
            // It has no thread that could report the pause.
            it.note_paused();
        }
        self.set_all(stage, |_, state| match state {
            SlotState::Backoff { .. } => Some(SlotState::Paused { is_there: false }),
            _ => None,
        });
    }

    /// Answers that all stages are paused.
    fn answer(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        pause.is_answered = true;
        self.cause = Cause::PauseAnswered;
        let stages = pause.stages.clone();
        let mut answer = Vec::new();
        for stage in stages {
            let is_paused = self.settle(stage);
            answer.push((stage, is_paused.then(|| self.present(stage))));
        }
        let answer = Answer::Paused { stages: answer };
        self.actions.push(Action::Answer(answer));
    }

    /// Returns whether a stage is paused. If not, it has ended, and its plugins are finished.
    fn settle(&mut self, stage: usize) -> bool {
        let gate = self.stages.get(stage).map(|it| it.gate);
        let is_paused = gate == Some(GateState::Paused);
        if !is_paused {
            self.set_all(stage, |_, state| match state {
                SlotState::Paused { is_there: true } => Some(SlotState::Finished),
                SlotState::Paused { is_there: false } => Some(SlotState::Gone),
                _ => None,
            });
        }
        is_paused
    }

    /// Starts to refuse the pause. Waits for the stage whose gate is closed if it is pausing already.
    fn start_refusal(&mut self, why: Refusal) {
        let Some(pause) = &mut self.pause else { return };
        pause.refused = Some(why);
        match pause.remaining.front() {
            Some(&stage) => self.actions.push(Action::ReopenGate { stage }),
            None => self.refuse(),
        }
    }

    pub(super) fn reopened(&mut self, stage: usize, is_open: bool) {
        let Some(pause) = &self.pause else { return };
        if pause.refused.is_none() || pause.remaining.front() != Some(&stage) {
            return;
        }
        if is_open {
            self.set_gate(stage, GateState::Open);
            self.refuse();
        }
        // Else its thread is ending: `refuse_when_quiet` refuses after that.
    }

    fn refuse_when_quiet(&mut self) {
        let Some(pause) = &self.pause else { return };
        let Some(&stage) = pause.remaining.front() else {
            return self.refuse();
        };
        let stage = self.stages.get(stage);
        if stage.is_none_or(|it| it.is_gated() && !it.is_busy(false)) {
            self.refuse();
        }
    }

    /// Refuses the pause: all stages resume unchanged.
    fn refuse(&mut self) {
        let Some(pause) = self.pause.take() else {
            return;
        };
        self.cause = Cause::PauseRefused;
        let stages = pause.stages.iter().copied();
        let paused: Vec<_> = stages.filter(|&stage| self.settle(stage)).collect();
        for &stage in &pause.stages {
            self.set_gate(stage, GateState::Open);
            self.actions.push(Action::OpenGate { stage });
        }
        for stage in paused {
            let present = self.present(stage);
            self.start_stage(stage, &present, Vec::new());
        }
        if let Some(why) = pause.refused {
            self.actions.push(Action::Answer(Answer::Refused(why)));
        }
    }

    fn present(&self, stage: usize) -> Vec<usize> {
        let slots = self.stages.get(stage).map_or(&[][..], |it| &it.slots);
        let slots = slots.iter().enumerate();
        let there = slots.filter(|(_, it)| it.state == SlotState::Paused { is_there: true });
        there.map(|(contestant, _)| contestant).collect()
    }

    /// Handles that the requester has panicked: its instances are lost.
    pub(super) fn requester_gone(&mut self, problem: Option<Problem>) {
        if let Some(pause) = self.pause.take() {
            self.actions.extend(problem.map(Action::Fail));
            self.end_paused(pause.is_answered);
        }
    }

    /// Ends all paused stages. `is_lent`: the requester owns their instances.
    fn end_paused(&mut self, is_lent: bool) {
        self.cause = Cause::PauseLost;
        for stage in 0..self.stages.len() {
            if !self.stages[stage].is_gated() {
                continue;
            }
            let is_awaited = |it: &Contestant| {
                use SlotState::{Backoff, Destroying};
                matches!(it.state, Backoff { .. } | Destroying { restart: Some(_) })
            };
            let slots = self.stages[stage].slots.iter().enumerate();
            let awaited: Vec<_> = slots
                .filter(|(_, it)| is_awaited(it))
                .map(|(contestant, _)| Slot { stage, contestant })
                .collect();
            self.set_all(stage, |_, state| match state {
                SlotState::Paused { is_there: true } if !is_lent => Some(SlotState::Finished),
                SlotState::Paused { .. } | SlotState::Backoff { .. } => Some(SlotState::Gone),
                SlotState::Destroying { .. } => Some(SlotState::Destroying { restart: None }),
                _ => None,
            });
            // A race that has not paused yet may wait for them.
            for slot in awaited {
                self.notify_race(slot);
            }
            self.set_gate(stage, GateState::Open);
            self.actions.push(Action::Close { stage });
            self.actions.push(Action::OpenGate { stage });
        }
    }

    /// Ends the pause some time after an abort: a plugin may hang while it saves or loads its state.
    fn abandon_when_aborted(&mut self) {
        if self.mode() < Mode::Abort {
            return;
        }
        let at = self.after(ABORT_GRACE);
        let Some(pause) = &mut self.pause else { return };
        if *pause.abandoned_at.get_or_insert(at) <= self.now {
            self.pause = None;
            self.end_paused(true);
        }
    }

    /// Resumes paused stages, and starts new ones.
    pub(super) fn resume(&mut self, stages: Vec<Resumed>) {
        for stage in self.pause.take().map_or(Vec::new(), |pause| pause.stages) {
            self.set_gate(stage, GateState::Open);
            self.actions.push(Action::OpenGate { stage });
            // It has ended, or is a removed source. The requester has its instances.
            if !stages.iter().any(|it| it.stage == stage) {
                self.set_all(stage, |_, state| match state {
                    SlotState::Paused { .. } => Some(SlotState::Gone),
                    _ => None,
                });
            }
        }
        for resumed in stages {
            let index = resumed.stage;
            if let Some(settings) = resumed.settings {
                let mut stage = SupervisedStage::new(settings);
                match self.stages.get_mut(index) {
                    Some(place) => {
                        stage.hung = place.hung;
                        *place = stage;
                    }
                    None => self.stages.push(stage),
                }
            }
            self.start_stage(index, &resumed.present, resumed.lost);
        }
    }

    /// Starts a stage's plugins. Missing ones had failed, and are created.
    fn start_stage(&mut self, index: usize, present: &[usize], lost: Vec<(usize, Problem)>) {
        let Some(stage) = self.stages.get(index) else {
            return;
        };
        let threads = stage.settings.threads;
        let running = stage.started();
        let until = self.now;
        self.set_all(index, |contestant, state| match state {
            _ if present.contains(&contestant) => Some(running),
            SlotState::Paused { .. } => Some(SlotState::Backoff { until }),
            _ => None,
        });
        for (contestant, problem) in lost {
            self.lose(
                Slot {
                    stage: index,
                    contestant,
                },
                problem,
            );
        }
        let stage = &mut self.stages[index];
        match threads {
            ThreadModel::One => {
                let start = |&contestant: &usize| Action::Start {
                    slot: Slot {
                        stage: index,
                        contestant,
                    },
                    is_restart: false,
                };
                self.actions.extend(present.iter().map(start));
            }
            ThreadModel::Replay => {
                self.actions.push(Action::StartReplay {
                    stage: index,
                    restarted: None,
                });
            }
            ThreadModel::Race => {
                stage.races = true;
                self.actions.push(Action::StartRace {
                    stage: index,
                    present: present.to_vec(),
                });
            }
        }
    }

    /// Handles a plugin whose process ended during the pause.
    fn lose(&mut self, slot: Slot, problem: Problem) {
        let decision = self.after_failure(slot, false);
        let is_alone = self.stages[slot.stage].settings.threads != ThreadModel::Race;
        if let Decision::Restart(after) = decision {
            let until = self.after(after);
            self.set(slot, SlotState::Backoff { until });
            return self.actions.push(Action::Report(problem));
        }
        self.set(slot, SlotState::Gone);
        if is_alone {
            let stage = slot.stage;
            self.actions.push(Action::Close { stage });
            return self.actions.push(Action::Fail(problem));
        }
        self.actions.push(Action::Report(problem));
    }
}

impl SupervisedStage {
    fn new(settings: Settings) -> Self {
        let contestant = Contestant {
            state: SlotState::Paused { is_there: false },
            failures: 0,
            is_restart: false,
            watchdog: Watchdog::default(),
        };
        Self {
            settings,
            slots: vec![contestant; settings.contestants],
            races: false,
            gate: GateState::Open,
            is_removed: false,
            hung: 0,
        }
    }
}
