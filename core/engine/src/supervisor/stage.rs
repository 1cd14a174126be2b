//! The supervisor's state of one stage and of its plugins.

use crate::supervisor::event::{Activity, Settings, SlotState, ThreadModel};
use crate::supervisor::transitions::{self, Cause};
use crate::supervisor::watchdog::Watchdog;

/// One stage.
#[derive(Debug)]
pub(super) struct SupervisedStage {
    pub(super) settings: Settings,
    pub(super) slots: Vec<Contestant>,
    /// The thread of its race has not ended.
    pub(super) races: bool,
    pub(super) gate: GateState,
    /// It was removed from the pipeline: it drains its queue.
    pub(super) is_removed: bool,
    pub(super) hung: u32,
}

/// The gate of a stage, which is closed while the stage is to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateState {
    Open,
    Closed,
    /// It is closed, and the stage has more work: it does not run because it pauses.
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
            slots: vec![contestant; settings.contestants],
            races: false,
            gate: GateState::Open,
            is_removed: false,
            hung: 0,
        }
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

    /// Whether its race has a contestant that takes part in a later message.
    pub(super) fn has_contestants(&self) -> bool {
        self.slots.iter().any(|it| match it.state {
            SlotState::Running(activity) => activity != Activity::Left,
            SlotState::Creating | SlotState::Backoff { .. } => true,
            SlotState::Destroying { restart } => restart.is_some(),
            SlotState::Paused { .. }
            | SlotState::Finished
            | SlotState::Gone
            | SlotState::Abandoned => false,
        })
    }

    /// The plugins in a state.
    pub(super) fn plugins_in(&self, is_state: impl Fn(SlotState) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        let there = slots.filter(|(_, it)| is_state(it.state));
        there.map(|(contestant, _)| contestant).collect()
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
