//! Starts stages, and resumes them after a pause.

use flowpipe_host::problem::Problem;

use crate::supervisor::event::{Action, Resumed, Slot, SlotState, ThreadModel, WorkerId};
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
        present: &[Slot],
        lost: Vec<(Slot, Problem)>,
    ) {
        let Some(stage) = self.stages.get(index) else {
            return;
        };
        let threads = stage.settings.threads;
        let running = stage.started();
        let until = self.now;
        self.set_all(index, |slot, state| match state {
            _ if present.contains(&slot) => Some(running),
            SlotState::Paused { .. } => Some(SlotState::Backoff { until }),
            _ => None,
        });
        for (slot, problem) in lost {
            self.lose(slot, problem);
        }
        match threads {
            ThreadModel::One => {
                let start = |&slot: &Slot| Action::Start {
                    slot,
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
            ThreadModel::Race => self.start_races(index, present),
        }
    }

    /// Starts the races of the workers that don't race and have not ended.
    fn start_races(&mut self, stage: usize, present: &[Slot]) {
        for (worker, it) in self.stages[stage].workers.iter_mut().enumerate() {
            if it.races || it.is_over {
                continue;
            }
            it.races = true;
            let of_worker = present.iter().filter(|slot| slot.worker == worker);
            self.actions.push(Action::StartRace {
                race: WorkerId { stage, worker },
                present: of_worker.copied().collect(),
            });
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
            self.end_alone(slot);
            return self.actions.push(Action::Fail(problem));
        }
        self.actions.push(Action::Report(problem));
    }
}
