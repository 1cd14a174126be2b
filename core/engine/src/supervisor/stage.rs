//! The supervisor's state of one stage, of its workers and of its plugins.

use crate::supervisor::event::{Activity, Settings, Slot, SlotState, ThreadModel, WorkerId};
use crate::supervisor::transitions::{self, Cause};
use crate::supervisor::watchdog::Watchdog;

/// One stage.
#[derive(Debug)]
pub(super) struct SupervisedStage {
    pub(super) settings: Settings,
    /// By worker and contestant.
    pub(super) slots: Vec<Contestant>,
    pub(super) workers: Vec<SupervisedWorker>,
    pub(super) gate: GateState,
    /// It was removed from the pipeline: it drains its queue.
    pub(super) is_removed: bool,
    pub(super) hung: u32,
}

/// One worker.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SupervisedWorker {
    /// The thread of its race has not ended.
    pub(super) races: bool,
    /// It takes no further message.
    pub(super) is_over: bool,
}

/// The gate of a stage, which is closed while the stage is to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateState {
    Open,
    Closed,
    /// It is closed, and a worker has more work: it does not run because it pauses.
    Paused,
}

/// One plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contestant {
    pub(super) state: SlotState,
    /// Failures since it last processed a message.
    pub(super) failures: u32,
    /// The next instance replaces one that failed.
    pub(super) is_restart: bool,
    pub(super) watchdog: Watchdog,
}

impl SupervisedStage {
    pub(super) fn new(settings: Settings) -> Self {
        let contestant = Contestant {
            state: SlotState::Paused { is_there: false },
            failures: 0,
            is_restart: false,
            watchdog: Watchdog::default(),
        };
        Self {
            settings,
            slots: vec![contestant; settings.workers * settings.contestants],
            workers: vec![SupervisedWorker::default(); settings.workers],
            gate: GateState::Open,
            is_removed: false,
            hung: 0,
        }
    }

    /// The place of a slot among [`Self::slots`]. `None`: the stage has no such slot.
    pub(super) fn place(&self, slot: Slot) -> Option<usize> {
        let Settings {
            workers,
            contestants,
            ..
        } = self.settings;
        let is_there = slot.worker < workers && slot.contestant < contestants;
        is_there.then(|| slot.worker * contestants + slot.contestant)
    }

    /// All slots, in the order of [`Self::slots`]. `stage`: the index of this stage.
    pub(super) fn all(&self, stage: usize) -> impl Iterator<Item = (Slot, &Contestant)> {
        let contestants = self.settings.contestants.max(1);
        let slots = self.slots.iter().enumerate();
        slots.map(move |(place, it)| {
            let worker = place / contestants;
            let race = WorkerId { stage, worker };
            (race.slot(place % contestants), it)
        })
    }

    /// The plugins of a worker.
    pub(super) fn of_worker(&self, worker: usize) -> &[Contestant] {
        let contestants = self.settings.contestants;
        let first = worker * contestants;
        self.slots
            .get(first..first + contestants)
            .unwrap_or_default()
    }

    pub(super) fn worker(&mut self, worker: usize) -> Option<&mut SupervisedWorker> {
        self.workers.get_mut(worker)
    }

    /// Whether a worker's race has not ended.
    pub(super) fn races(&self, worker: usize) -> bool {
        self.workers.get(worker).is_some_and(|it| it.races)
    }

    pub(super) fn is_gated(&self) -> bool {
        self.gate != GateState::Open
    }

    /// Notes that it does not run because it pauses.
    pub(super) fn note_paused(&mut self) {
        if self.gate == GateState::Closed {
            self.gate = GateState::Paused;
        }
    }

    /// The state of a plugin whose thread starts.
    pub(super) fn started(&self) -> SlotState {
        SlotState::Running(match self.settings.threads {
            ThreadModel::Race => Activity::Joining,
            ThreadModel::One | ThreadModel::Replay => Activity::Idle,
        })
    }

    /// Whether a plugin of it runs, is being created or destroyed, or, with `waits`, is to be.
    pub(super) fn is_busy(&self, waits: bool) -> bool {
        (0..self.workers.len()).any(|worker| self.is_worker_busy(worker, waits))
    }

    /// As [`Self::is_busy`], of one worker.
    pub(super) fn is_worker_busy(&self, worker: usize, waits: bool) -> bool {
        let is_busy = |contestant: &Contestant| match contestant.state {
            SlotState::Creating | SlotState::Running(_) => true,
            SlotState::Destroying { restart } => restart.is_some() || !waits,
            SlotState::Backoff { .. } => waits,
            SlotState::Paused { .. }
            | SlotState::Finished
            | SlotState::Gone
            | SlotState::Abandoned => false,
        };
        self.races(worker) || self.of_worker(worker).iter().any(is_busy)
    }

    /// Whether the race of a worker has a contestant that takes part in a later message.
    pub(super) fn has_contestants(&self, worker: usize) -> bool {
        self.of_worker(worker).iter().any(|it| match it.state {
            SlotState::Running(activity) => activity != Activity::Left,
            SlotState::Creating | SlotState::Backoff { .. } => true,
            SlotState::Destroying { restart } => restart.is_some(),
            SlotState::Paused { .. }
            | SlotState::Finished
            | SlotState::Gone
            | SlotState::Abandoned => false,
        })
    }

    /// The slots in a state. `stage`: the index of this stage.
    pub(super) fn slots_in(&self, stage: usize, is_state: impl Fn(SlotState) -> bool) -> Vec<Slot> {
        let there = self.all(stage).filter(|(_, it)| is_state(it.state));
        there.map(|(slot, _)| slot).collect()
    }
}

impl Contestant {
    pub(super) fn set(&mut self, state: SlotState, cause: Cause) {
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
