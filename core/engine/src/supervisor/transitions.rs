//! The transition table: which state of a slot may follow which, and why.
//!
//! [`Slots::set`] asserts it in debug builds. A test compares it with the table in the docs of
//! [`crate::supervisor`], and another one finds each of its rows in random runs.
//!
//! [`Slots::set`]: crate::supervisor::slots::Slots::set

use Cause::*;
use StateKind::*;

use crate::supervisor::event::{Event, SlotState};

/// A [`SlotState`] without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StateKind {
    Creating,
    Running,
    Backoff,
    Paused,
    /// Paused, without an instance.
    Empty,
    /// Destroying, to be restarted.
    Restarting,
    Destroying,
    Finished,
    Gone,
    Abandoned,
}

/// Why a slot changes its state: an event, or a decision that any event can cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// An event that changes no slot.
    #[default]
    Other,
    /// [`Event::Resumed`](super::Event::Resumed).
    Resumed,
    /// [`Event::Created`](super::Event::Created).
    Created,
    /// [`Event::CreateFailed`](super::Event::CreateFailed).
    CreateFailed,
    /// [`Event::Deferred`](super::Event::Deferred).
    Deferred,
    /// [`Event::Destroyed`](super::Event::Destroyed).
    Destroyed,
    /// [`Event::Hung`](super::Event::Hung).
    Hung,
    /// [`Event::Ended`](super::Event::Ended) and [`Event::ThreadsFailed`](super::Event::ThreadsFailed).
    Ended,
    /// [`Event::Over`](super::Event::Over).
    Over,
    /// The time of a backoff has come.
    Due,
    /// A stage is paused; the next one follows.
    PauseAdvances,
    /// All stages are paused.
    PauseAnswered,
    /// The stages resume unchanged.
    PauseRefused,
    /// The requester panicked, or does not answer at the end of an aborted run.
    PauseLost,
}

/// A row: state, cause, next state.
pub(super) type Transition = (StateKind, Cause, StateKind);

/// All transitions.
pub(super) const TRANSITIONS: &[Transition] = &[
    (Empty, Resumed, Running),
    (Empty, Resumed, Backoff),
    (Empty, Resumed, Gone),
    (Paused, Resumed, Running),
    (Paused, Resumed, Backoff),
    (Paused, Resumed, Gone),
    (Backoff, Resumed, Gone),
    (Creating, Created, Running),
    (Creating, Created, Paused),
    (Paused, Created, Running),
    (Creating, CreateFailed, Backoff),
    (Creating, CreateFailed, Gone),
    (Paused, CreateFailed, Finished),
    (Backoff, CreateFailed, Gone),
    (Creating, Deferred, Backoff),
    (Running, Ended, Paused),
    (Running, Ended, Finished),
    (Running, Ended, Restarting),
    (Running, Ended, Destroying),
    (Running, Ended, Abandoned),
    (Running, Hung, Backoff),
    (Running, Hung, Abandoned),
    (Restarting, Destroyed, Backoff),
    (Destroying, Destroyed, Gone),
    (Backoff, Due, Creating),
    (Backoff, Due, Gone),
    (Paused, Due, Finished),
    (Paused, PauseAdvances, Finished),
    (Finished, PauseAdvances, Destroying),
    (Backoff, PauseAdvances, Empty),
    (Paused, PauseAnswered, Finished),
    (Empty, PauseAnswered, Gone),
    (Paused, PauseRefused, Running),
    (Empty, PauseRefused, Backoff),
    (Paused, PauseRefused, Finished),
    (Empty, PauseRefused, Gone),
    (Paused, PauseLost, Finished),
    (Paused, PauseLost, Gone),
    (Empty, PauseLost, Gone),
    (Backoff, PauseLost, Gone),
    (Restarting, PauseLost, Destroying),
    (Finished, Over, Destroying),
    (Paused, Over, Destroying),
];

impl Cause {
    /// The cause that an event is, until a decision is made.
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Resumed(_) => Resumed,
            Event::Created(_) => Created,
            Event::CreateFailed(..) => CreateFailed,
            Event::Deferred(_) => Deferred,
            Event::Destroyed(_) => Destroyed,
            Event::Hung { .. } => Hung,
            Event::Ended(..) | Event::ThreadsFailed { .. } => Ended,
            Event::Over => Over,
            _ => Other,
        }
    }
}

impl From<SlotState> for StateKind {
    fn from(state: SlotState) -> Self {
        match state {
            SlotState::Creating => Creating,
            SlotState::Running(_) => Running,
            SlotState::Backoff { .. } => Backoff,
            SlotState::Paused { is_there: true } => Paused,
            SlotState::Paused { is_there: false } => Empty,
            SlotState::Destroying { restart: Some(_) } => Restarting,
            SlotState::Destroying { restart: None } => Destroying,
            SlotState::Finished => Finished,
            SlotState::Gone => Gone,
            SlotState::Abandoned => Abandoned,
        }
    }
}

/// The row of a transition.
pub(super) fn row(from: SlotState, cause: Cause, to: SlotState) -> Transition {
    (StateKind::from(from), cause, StateKind::from(to))
}

/// Whether the table has this transition. A state may always change its data.
pub(super) fn is_listed(from: SlotState, cause: Cause, to: SlotState) -> bool {
    let row = row(from, cause, to);
    row.0 == row.2 || TRANSITIONS.contains(&row)
}
