//! Times between boards, and before the first one, in which the board takes no input.

#[cfg(test)]
mod tests;

use std::time::Duration;

use flowpipe_puzzle::Board;

use super::{Interlude, Pointer, Until};
use crate::cover::Cover;

/// Interludes that follow each other.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// The current one first.
    steps: &'static [Interlude],
    /// When the current one began.
    since: Duration,
    /// Whether the button went down where a click ends the current one.
    is_pressed: bool,
}

impl Steps {
    pub(super) fn new(steps: &'static [Interlude], now: Duration) -> Self {
        Self {
            steps,
            since: now,
            is_pressed: false,
        }
    }

    /// The steps after the current one, if there are any.
    pub(super) fn rest(&self, now: Duration) -> Option<Self> {
        match self.steps {
            [] | [_] => None,
            [_, rest @ ..] => Some(Self::new(rest, now)),
        }
    }

    /// When the current step ends by itself, if it does. No steps have ended at once.
    pub(super) fn end(&self, is_trial: bool) -> Option<Duration> {
        let lasts = self.steps.first().map(|step| step.lasts(is_trial));
        Some(self.since + lasts.unwrap_or(Some(Duration::ZERO))?)
    }

    /// Takes what the pointer does: whether a click, a press and a release, ends the current step.
    pub(super) fn is_ended_by(&mut self, pointer: Pointer, board: &Board) -> bool {
        let step = self.steps.first();
        let ends = |at| step.is_some_and(|step| step.ends_at(board, at));
        match pointer {
            Pointer::Press(at) => {
                self.is_pressed = ends(at);
                false
            }
            Pointer::Move(_) => false,
            Pointer::Release(at) => std::mem::take(&mut self.is_pressed) && ends(at),
        }
    }

    /// What the current step waits for.
    pub(super) fn until(&self) -> Option<Until> {
        self.steps.first().map(|step| step.until)
    }

    /// What covers the board.
    pub(super) fn cover(&self) -> Option<&'static Cover> {
        self.steps.first()?.cover
    }
}
