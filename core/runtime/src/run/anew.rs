//! Making a stage's plugin anew after a failure: whether, and how soon.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::pipeline::{Isolation, OnError, Restart};
use crate::run::stage::Stage;

/// What becomes of a plugin that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It goes on as it is.
    GoOn,
    /// It is made anew after this time.
    Anew(Duration),
    /// The stage ends, and the run with it.
    End,
}

/// The failures of one contestant since it last worked a message through.
#[derive(Debug, Default)]
pub(crate) struct Strikes(AtomicU32);

/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(30);

impl Strikes {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }
}

impl Stage {
    /// A contestant has worked a message through.
    pub(crate) fn forget_failures(&self, contestant: usize) {
        if let Some(strikes) = self.strikes.get(contestant) {
            strikes.0.store(0, Ordering::Relaxed);
        }
    }

    /// A contestant has failed. `lives`: it could go on as it is.
    pub(crate) fn after_failure(&self, contestant: usize, lives: bool) -> Next {
        let strikes = self.strikes.get(contestant).map_or(u32::MAX, Strikes::add);
        if !lives && self.must_end() {
            // Nobody is needed in its place, and that is no reason to fail.
            return Next::Anew(Duration::ZERO);
        }
        if let Some(restart) = self.restart(lives)
            && strikes <= restart.max
        {
            return Next::Anew(wait(restart, strikes));
        }
        match self.settings.on_error {
            OnError::Stop => Next::End,
            OnError::Skip if lives => Next::GoOn,
            OnError::Skip => Next::Anew(
                self.restart(lives)
                    .map_or(Duration::ZERO, |restart| wait(restart, strikes)),
            ),
        }
    }

    /// A contestant could not be made anew. `None`: nor will it be tried again.
    pub(crate) fn after_refusal(&self, contestant: usize) -> Option<Duration> {
        let strikes = self.strikes.get(contestant)?.add();
        let restart = self.restart(false)?;
        (strikes <= restart.max).then(|| wait(restart, strikes))
    }

    /// The rule for failures that leave the plugin alive, or that don't.
    fn restart(&self, lives: bool) -> Option<Restart> {
        let apart = self.settings.isolation == Isolation::Process;
        let of_its_own = (apart && !lives).then(Restart::default);
        self.settings.restart.or(of_its_own)
    }
}

/// How long to wait after so many failures in a row: twice as long each time.
fn wait(restart: Restart, strikes: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(strikes.saturating_sub(1));
    let longest = LONGEST.max(restart.backoff);
    restart.backoff.saturating_mul(doubled).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_as_long_up_to_a_bound() {
        let restart = Restart {
            max: u32::MAX,
            backoff: Duration::from_millis(100),
        };
        let waits: Vec<_> = [1, 2, 3, 9, 10, 40, u32::MAX]
            .map(|strikes| wait(restart, strikes).as_millis())
            .to_vec();
        assert_eq!(waits, [100, 200, 400, 25_600, 30_000, 30_000, 30_000]);
        let slow = Restart {
            backoff: Duration::from_secs(60),
            ..restart
        };
        assert_eq!(wait(slow, 3), Duration::from_secs(60));
    }
}
