//! The restart policy: whether a plugin is restarted after a failure, and how soon.

use std::time::Duration;

use flowpipe_config::pipeline::{Isolation, OnError, Restart, Stage};
use flowpipe_process::backoff::Backoff;

/// The restart policy of one stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    on_error: OnError,
    restart: Option<Restart>,
    isolation: Isolation,
    is_replay: bool,
}

/// The decision after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The plugin continues as it is.
    Continue,
    /// It is destroyed, and restarted after this time.
    Restart(Duration),
    /// The stage ends, and the run with it.
    End,
}

/// The longest backoff, unless the pipeline configures a longer initial one.
pub(crate) const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

impl Policy {
    pub(crate) fn new(stage: &Stage) -> Self {
        Self {
            on_error: stage.on_error,
            restart: stage.restart,
            isolation: stage.isolation,
            is_replay: false,
        }
    }

    /// The policy of a replay. The recording shows what followed each failure: none ends the run, and a plugin that
    /// can't continue is replaced at once.
    pub(crate) fn replay(stage: &Stage) -> Self {
        Self {
            is_replay: true,
            ..Self::new(stage)
        }
    }

    /// Decides after a race in which all plugins failed, and none of them is restarted.
    pub(super) fn after_race(&self) -> Decision {
        match self.on_error {
            OnError::Skip => Decision::Continue,
            OnError::Stop => Decision::End,
        }
    }

    /// Decides after the `failures`th failure in a row. `is_alive`: the plugin could continue as it is.
    pub(super) fn after_failure(&self, failures: u32, is_alive: bool) -> Decision {
        if self.is_replay {
            return match is_alive {
                true => Decision::Continue,
                false => Decision::Restart(Duration::ZERO),
            };
        }
        let restart = self.restart(is_alive);
        if let Some(restart) = restart
            && failures <= restart.max
        {
            return Decision::Restart(backoff(restart, failures));
        }
        match self.on_error {
            OnError::Stop => Decision::End,
            OnError::Skip if is_alive => Decision::Continue,
            OnError::Skip => {
                Decision::Restart(restart.map_or(Duration::ZERO, |it| backoff(it, failures)))
            }
        }
    }

    /// Decides after a plugin failed to start, its `failures`th failure in a row. `None`: no further attempt.
    pub(super) fn after_refusal(&self, failures: u32) -> Option<Duration> {
        let restart = self.restart(false)?;
        (failures <= restart.max).then(|| backoff(restart, failures))
    }

    /// The restart settings for failures after which the plugin is alive, or is not.
    fn restart(&self, is_alive: bool) -> Option<Restart> {
        let is_isolated = self.isolation == Isolation::Process;
        let default = (is_isolated && !is_alive).then(Restart::default);
        self.restart.or(default)
    }
}

/// The backoff after this many failures in a row. It doubles each time.
fn backoff(restart: Restart, failures: u32) -> Duration {
    let first = restart.backoff;
    let longest = LONGEST_BACKOFF.max(first);
    Backoff { first, longest }.delay(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_backoff_is_twice_as_long_up_to_a_bound() {
        let restart = Restart {
            max: u32::MAX,
            backoff: Duration::from_millis(100),
        };
        let waits: Vec<_> = [1, 2, 3, 9, 10, 40, u32::MAX]
            .map(|failures| backoff(restart, failures).as_millis())
            .to_vec();
        assert_eq!(waits, [100, 200, 400, 25_600, 30_000, 30_000, 30_000]);
        let slow = Restart {
            backoff: Duration::from_secs(60),
            ..restart
        };
        assert_eq!(backoff(slow, 3), Duration::from_secs(60));
    }
}
