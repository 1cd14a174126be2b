//! Starts stages, and resumes them after a pause.

use flowpipe_host::problem::Problem;

use crate::supervisor::event::{Action, Resumed, Slot, SlotState, ThreadModel};
use crate::supervisor::policy::Decision;
use crate::supervisor::slots::Slots;
use crate::supervisor::stage::{GateState, SupervisedStage};

impl Slots {
    /// Resumes the stages that were `paused`, and starts new ones.
    pub(super) fn resume(&mut self, paused: Vec<usize>, stages: Vec<Resumed>) {
        for stage in paused {
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
    pub(super) fn start_stage(
        &mut self,
        index: usize,
        present: &[usize],
        lost: Vec<(usize, Problem)>,
    ) {
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
