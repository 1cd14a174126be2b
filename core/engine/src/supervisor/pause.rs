//! Pauses stages one after the other, to change a running pipeline. The requester owns their instances until they
//! resume.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::watchdog::ABORT_GRACE;
use crate::supervisor::{
    Action, Contestant, Decision, Policy, Slot, SlotState, SupervisedStage, Supervisor, ThreadModel,
};

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

/// The answer to the requester of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The stages are paused, and the requester owns their instances. Each with its contestants that have an instance;
    /// `None`: the stage had ended.
    Paused {
        stages: Vec<(usize, Option<Vec<usize>>)>,
    },
    /// The stages resume unchanged.
    Refused(Refusal),
}

/// Why a pause is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This stage does not return from its call.
    Busy { stage: usize },
    /// The run is ending.
    Ending,
}

/// A stage that starts, or resumes after a pause.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub stage: usize,
    /// Set if it starts or its settings have changed.
    pub settings: Option<Settings>,
    /// Contestants with an instance.
    pub present: Vec<usize>,
    /// Contestants whose instance was lost during the pause, with the problem.
    pub lost: Vec<(usize, Problem)>,
}

/// The supervisor's settings of a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub policy: Policy,
    pub is_source: bool,
    pub threads: ThreadModel,
    pub contestants: usize,
    pub is_removed: bool,
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
        self.set_gate(stage, true);
        self.actions.push(Action::CloseGate { stage });
        let deadline = self.after(patience);
        if let Some(pause) = &mut self.pause {
            pause.deadline = deadline;
        }
    }

    fn set_gate(&mut self, stage: usize, is_gated: bool) {
        if let Some(stage) = self.stages.get_mut(stage) {
            stage.is_gated = is_gated;
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
            if self.mode > Mode::Run {
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
            self.note_paused(stage);
            if let Some(pause) = &mut self.pause {
                pause.remaining.pop_front();
            }
            self.close_next_gate();
        }
    }

    /// Marks a stage as paused. Instances in backoff are created when it resumes.
    fn note_paused(&mut self, stage: usize) {
        let Some(stage) = self.stages.get_mut(stage) else {
            return;
        };
        for contestant in &mut stage.slots {
            if let SlotState::Backoff { .. } = contestant.state {
                contestant.state = SlotState::Paused { is_there: false };
                // It has no thread that could report the pause.
                stage.is_paused |= stage.threads != ThreadModel::Race;
            }
        }
    }

    /// Answers that all stages are paused.
    fn answer(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        pause.is_answered = true;
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
        let Some(stage) = self.stages.get_mut(stage) else {
            return false;
        };
        if !stage.is_paused {
            stage.slots.iter_mut().for_each(finish);
        }
        stage.is_paused
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
            self.set_gate(stage, false);
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
        if stage.is_none_or(|it| it.is_gated && !it.is_busy(false)) {
            self.refuse();
        }
    }

    /// Refuses the pause: all stages resume unchanged.
    fn refuse(&mut self) {
        let Some(pause) = self.pause.take() else {
            return;
        };
        for &stage in &pause.stages {
            self.set_gate(stage, false);
            self.actions.push(Action::OpenGate { stage });
        }
        for &stage in &pause.stages {
            if self.settle(stage) {
                let present = self.present(stage);
                self.start_stage(stage, &present, Vec::new());
            }
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
        for stage in 0..self.stages.len() {
            if self.stages[stage].is_gated {
                self.stages[stage]
                    .slots
                    .iter_mut()
                    .for_each(|it| end(it, is_lent));
                self.stages[stage].is_paused = false;
                self.set_gate(stage, false);
                self.actions.push(Action::Close { stage });
                self.actions.push(Action::OpenGate { stage });
            }
        }
    }

    /// Ends the pause some time after an abort: a plugin may hang while it saves or loads its state.
    fn abandon_when_aborted(&mut self) {
        if self.mode < Mode::Abort {
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
            self.set_gate(stage, false);
            self.actions.push(Action::OpenGate { stage });
            // It has ended, or is a removed source.
            if !stages.iter().any(|it| it.stage == stage)
                && let Some(stage) = self.stages.get_mut(stage)
            {
                stage.slots.iter_mut().for_each(set_gone);
            }
        }
        for resumed in stages {
            let index = resumed.stage;
            if let Some(settings) = resumed.settings {
                let mut stage = SupervisedStage::new(&settings);
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
        let Some(stage) = self.stages.get_mut(index) else {
            return;
        };
        stage.is_paused = false;
        let threads = stage.threads;
        let running = stage.running();
        for (contestant, slot) in stage.slots.iter_mut().enumerate() {
            slot.state = match slot.state {
                _ if present.contains(&contestant) => running,
                SlotState::Paused { .. } => SlotState::Backoff { until: self.now },
                state => state,
            };
        }
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
                let waits = |it: &Contestant| matches!(it.state, SlotState::Backoff { .. });
                let missing = stage.slots.iter().enumerate();
                let missing = missing.filter(|(_, it)| waits(it)).map(|(it, _)| it);
                stage.races = true;
                self.actions.push(Action::StartRace {
                    stage: index,
                    present: present.to_vec(),
                    missing: missing.collect(),
                });
            }
        }
    }

    /// Handles a plugin whose process ended during the pause.
    fn lose(&mut self, slot: Slot, problem: Problem) {
        let decision = self.after_failure(slot, false);
        let is_alone = self.stages[slot.stage].threads != ThreadModel::Race;
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

/// Marks a paused plugin as finished.
fn finish(contestant: &mut Contestant) {
    contestant.state = match contestant.state {
        SlotState::Paused { is_there: true } => SlotState::Finished,
        SlotState::Paused { is_there: false } => SlotState::Gone,
        state => state,
    };
}

/// Marks a paused plugin as gone: the requester owns its instance.
fn set_gone(contestant: &mut Contestant) {
    if let SlotState::Paused { .. } = contestant.state {
        contestant.state = SlotState::Gone;
    }
}

/// Ends a paused plugin, which is not replaced.
fn end(contestant: &mut Contestant, is_lent: bool) {
    contestant.state = match contestant.state {
        SlotState::Paused { is_there: true } if !is_lent => SlotState::Finished,
        SlotState::Paused { .. } | SlotState::Backoff { .. } => SlotState::Gone,
        SlotState::Destroying { .. } => SlotState::Destroying { restart: None },
        state => state,
    };
}

impl SupervisedStage {
    pub(super) fn new(settings: &Settings) -> Self {
        let contestant = Contestant {
            state: SlotState::Paused { is_there: false },
            failures: 0,
            is_restart: false,
            has_left: false,
        };
        Self {
            policy: settings.policy,
            is_source: settings.is_source,
            threads: settings.threads,
            slots: vec![contestant; settings.contestants],
            races: false,
            is_gated: false,
            is_paused: false,
            is_removed: settings.is_removed,
            hung: 0,
        }
    }
}
