//! How a run ends: which request sets which mode.

use flowpipe_config::pipeline::OnStop;
use flowpipe_host::run::{Ending, Mode};

use crate::supervisor::event::{Action, StopCause};
use crate::supervisor::{SupervisedStage, Supervisor};

/// How far a run is on its way to the end.
#[derive(Debug, Default)]
pub(super) struct RunEnd {
    pub(super) mode: Mode,
    /// Whether a gentle stop drops the queued messages.
    drops: bool,
    /// Whether a user has asked for the end.
    was_asked: bool,
}

impl Supervisor {
    /// Whether a user has asked for the end of the run.
    pub(crate) fn was_asked(&self) -> bool {
        self.end.was_asked
    }

    /// What a gentle stop does.
    pub(crate) fn on_stop(&self) -> OnStop {
        match self.end.drops {
            true => OnStop::Drop,
            false => OnStop::Drain,
        }
    }

    pub(super) fn set_on_stop(&mut self, on_stop: OnStop) {
        self.end.drops = on_stop == OnStop::Drop;
    }

    pub(super) fn mode(&self) -> Mode {
        self.end.mode
    }

    pub(super) fn stop(&mut self, cause: StopCause) {
        let gently = match self.end.drops {
            true => Mode::Drop,
            false => Mode::Drain,
        };
        let mode = match cause {
            StopCause::Request if self.end.was_asked => Mode::Abort,
            StopCause::Request | StopCause::Failure => gently,
            StopCause::Stage(Ending::Done) => Mode::Drop,
            StopCause::Stage(Ending::Stopped) | StopCause::Abort => Mode::Abort,
        };
        self.end.was_asked |= matches!(cause, StopCause::Request | StopCause::Abort);
        self.advance_mode(mode);
    }

    pub(super) fn advance_mode(&mut self, mode: Mode) {
        if self.end.mode < mode {
            self.end.mode = mode;
            self.actions.push(Action::SetMode(mode));
        }
    }

    /// Whether a stage has to end after the current call.
    pub(super) fn must_end(&self, stage: &SupervisedStage) -> bool {
        self.end.mode.ends(stage.settings.is_source)
    }

    pub(super) fn stage_must_end(&self, stage: usize) -> bool {
        let stage = self.stages.get(stage);
        stage.is_none_or(|stage| self.must_end(stage))
    }
}
