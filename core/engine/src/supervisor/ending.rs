//! How a run ends: which request sets which mode.

use flowpipe_config::pipeline::OnStop;
use flowpipe_host::run::{Ending, Mode};

use crate::supervisor::event::{Action, StopCause};
use crate::supervisor::stage::SupervisedStage;

/// How far a run is on its way to the end.
#[derive(Debug, Default)]
pub(super) struct RunEnd {
    pub(super) mode: Mode,
    /// Whether a gentle stop drops the queued messages.
    drops: bool,
    /// Whether a user has asked for the end.
    was_asked: bool,
}

impl RunEnd {
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked
    }

    pub(super) fn on_stop(&self) -> OnStop {
        match self.drops {
            true => OnStop::Drop,
            false => OnStop::Drain,
        }
    }

    pub(super) fn set_on_stop(&mut self, on_stop: OnStop) {
        self.drops = on_stop == OnStop::Drop;
    }

    /// Notes a request or a reason to end. Returns the mode that it asks for.
    pub(super) fn stop(&mut self, cause: StopCause) -> Mode {
        let gently = match self.drops {
            true => Mode::Drop,
            false => Mode::Drain,
        };
        let mode = match cause {
            StopCause::Request if self.was_asked => Mode::Abort,
            StopCause::Request | StopCause::Failure | StopCause::OtherMachine => gently,
            StopCause::Stage(Ending::Done) => Mode::Drop,
            StopCause::Stage(Ending::Stopped) | StopCause::Abort => Mode::Abort,
        };
        self.was_asked |= matches!(cause, StopCause::Request | StopCause::Abort);
        mode
    }

    /// Advances the mode, which never goes back.
    pub(super) fn advance(&mut self, mode: Mode) -> Option<Action> {
        (self.mode < mode).then(|| {
            self.mode = mode;
            Action::SetMode(mode)
        })
    }

    /// Whether a stage has to end after the current call.
    pub(super) fn must_end(&self, stage: &SupervisedStage) -> bool {
        self.mode.ends(stage.settings.is_source)
    }
}
